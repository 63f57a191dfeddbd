"""The kinds of faults by the names that plans use; a new one is a file in `kinds`, and a line."""

from acp_proxy.faults.fault import Fault
from acp_proxy.faults.kinds.bandwidth import Bandwidth
from acp_proxy.faults.kinds.close import Close
from acp_proxy.faults.kinds.corrupt import Corrupt
from acp_proxy.faults.kinds.drop import Drop
from acp_proxy.faults.kinds.duplicate import Duplicate
from acp_proxy.faults.kinds.error_reply import ErrorReply
from acp_proxy.faults.kinds.exit_ import Exit
from acp_proxy.faults.kinds.huge_frame import HugeFrame
from acp_proxy.faults.kinds.ignore_cancel import IgnoreCancel
from acp_proxy.faults.kinds.latency import Latency
from acp_proxy.faults.kinds.limit_data import LimitData
from acp_proxy.faults.kinds.noop import Noop
from acp_proxy.faults.kinds.reorder import Reorder
from acp_proxy.faults.kinds.replace import Replace
from acp_proxy.faults.kinds.reply import Reply
from acp_proxy.faults.kinds.signals import Kill, Pause, Resume, Terminate
from acp_proxy.faults.kinds.slice import Slice
from acp_proxy.faults.kinds.stall import Stall
from acp_proxy.faults.kinds.stderr_flood import StderrFlood
from acp_proxy.faults.kinds.stray_stdout import StrayStdout
from acp_proxy.faults.kinds.truncate import Truncate

KINDS: dict[str, type[Fault]] = {
    kind.kind: kind
    for kind in (
        *(Noop, Latency, Bandwidth, Slice),
        *(Drop, Duplicate, Reorder, Corrupt, Truncate, Replace),
        *(ErrorReply, Reply, IgnoreCancel),
        *(Stall, StrayStdout, StderrFlood, HugeFrame, LimitData, Close),
        *(Kill, Pause, Resume, Terminate, Exit),
    )
}
