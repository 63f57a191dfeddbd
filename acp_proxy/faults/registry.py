"""The kinds of faults by the names that plans use; a new one is a file in `kinds`, and a line."""

from acp_proxy.faults.fault import Fault
from acp_proxy.faults.kinds.bandwidth import BandwidthFault
from acp_proxy.faults.kinds.close import CloseFault
from acp_proxy.faults.kinds.corrupt import CorruptFault
from acp_proxy.faults.kinds.drop import DropFault
from acp_proxy.faults.kinds.duplicate import DuplicateFault
from acp_proxy.faults.kinds.error_reply import ErrorReplyFault
from acp_proxy.faults.kinds.exit_ import ExitFault
from acp_proxy.faults.kinds.huge_frame import HugeFrameFault
from acp_proxy.faults.kinds.ignore_cancel import IgnoreCancelFault
from acp_proxy.faults.kinds.latency import LatencyFault
from acp_proxy.faults.kinds.limit_data import LimitDataFault
from acp_proxy.faults.kinds.noop import NoopFault
from acp_proxy.faults.kinds.reorder import ReorderFault
from acp_proxy.faults.kinds.replace import ReplaceFault
from acp_proxy.faults.kinds.reply import ReplyFault
from acp_proxy.faults.kinds.signals import KillFault, PauseFault, ResumeFault, TerminateFault
from acp_proxy.faults.kinds.slice import SliceFault
from acp_proxy.faults.kinds.stall import StallFault
from acp_proxy.faults.kinds.stderr_flood import StderrFloodFault
from acp_proxy.faults.kinds.stray_stdout import StrayStdoutFault
from acp_proxy.faults.kinds.truncate import TruncateFault

KINDS: dict[str, type[Fault]] = {
    kind.kind: kind
    for kind in (
        *(NoopFault, LatencyFault, BandwidthFault, SliceFault),
        *(DropFault, DuplicateFault, ReorderFault, CorruptFault, TruncateFault, ReplaceFault),
        *(ErrorReplyFault, ReplyFault, IgnoreCancelFault),
        *(
            StallFault,
            StrayStdoutFault,
            StderrFloodFault,
            HugeFrameFault,
            LimitDataFault,
            CloseFault,
        ),
        *(KillFault, PauseFault, ResumeFault, TerminateFault, ExitFault),
    )
}
