"""Modules that are imported before the agent starts import very few modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import acp_proxy
from tests.support.cases import each_case

PACKAGE = Path(acp_proxy.__file__).parent
EARLY = ("agent_names", "file_names", "log_format")
"""Modules of `recording` that are read before the agent starts."""
CAPTURE = [
    *sorted((PACKAGE / "record/capture").glob("*.py")),
    *(PACKAGE / f"recording/{name}.py" for name in EARLY),
]

ALLOWED = {"errno", "fcntl", "os", "struct", "sys", "time"}
"""Modules that `record/capture` may import; each is built in, small, or loaded by Python itself."""

LOADED_WITH = {
    "_collections_abc",
    "_stat",
    "_struct",
    "genericpath",
    "os.path",
    "posixpath",
    "stat",
}
"""The modules that these load in turn."""

LATER = {
    "shlex",
    "shutil",
    "_thread",
    "_signal",
    "_blake2",
    "ctypes",
    "pwd",
    "select",
    "signal",
    "textwrap",
}
"""Built into Python, or imported inside a function, when the agent runs or will not."""


RARE = {
    f"acp_proxy.record.capture.{name}"
    for name in ("agent_lookup", "in_place", "process_table", "shared_group")
}
"""Modules of ours that are imported on a terminal, for ``@NAME``, or where no agent can run beside
us."""


def module_of(path: Path) -> str:
    """Returns the dotted name of a module."""
    return ".".join(("acp_proxy", *path.relative_to(PACKAGE).with_suffix("").parts))


def test_starting_loads_small_modules_only() -> None:
    """Before `record` starts the agent, it loads only a few small modules."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules);"
        "import acp_proxy.entry, acp_proxy.record.capture.record_options;"
        "import acp_proxy.record.capture.starter;"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(PACKAGE.parent)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    ours = {
        "acp_proxy",
        "acp_proxy.base",
        "acp_proxy.base.limits",
        "acp_proxy.entry",
        "acp_proxy.record",
        "acp_proxy.record.capture",
        "acp_proxy.recording",
    }
    ours |= {module_of(path) for path in CAPTURE if path.stem != "__init__"}
    assert ours - set(loaded) == RARE
    assert set(loaded) - ours <= ALLOWED | LOADED_WITH


@each_case("path", CAPTURE, ids=lambda path: path.stem)
def test_no_module_of_capture_imports_more(path: Path) -> None:
    """Modules of `record/capture/`, which start first, import only a few allowed modules."""
    tree = ast.parse(path.read_text())
    everywhere = set(imports(ast.walk(tree)))
    at_once = set(imports(tree.body))
    siblings = {name for name in everywhere if name.startswith("acp_proxy.record.capture")}
    siblings |= {"acp_proxy.base.limits", "acp_proxy.recording"}
    siblings |= {f"acp_proxy.recording.{name}" for name in EARLY}
    assert at_once <= ALLOWED | {"_thread", "_signal", "acp_proxy"} | siblings
    assert everywhere <= ALLOWED | LATER | {"acp_proxy", "collections.abc", "typing"} | siblings


def imports(nodes: object) -> list[str]:
    """Returns the names of the modules that statements import."""
    actual = []
    assert hasattr(nodes, "__iter__")
    for node in nodes:
        if isinstance(node, ast.Import):
            actual += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            actual.append(node.module or "")
    return actual


def test_only_the_window_needs_a_web_server() -> None:
    """The packages of the server of `web` are imported only when the command is run."""
    packages = {"anyio", "h11", "h2", "hypercorn", "starlette", "trio", "wsproto"}
    script = (
        "import sys, acp_proxy.cli.main, acp_proxy.cli.web\n"
        f"print(sorted({{name.split('.')[0] for name in sys.modules}} & {packages}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def redaction_after(script: str, *words: str | Path) -> set[str]:
    """Returns the modules of `redaction` that a program has imported when it ends."""
    told = "print(*(n for n in sys.modules if n.startswith('acp_proxy.redaction.')), flush=True)"
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, os\ndef tell(*_): {told}; os._exit(0)\n{script}",
            *words,
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return {name.rpartition(".")[2] for name in loaded}


def test_a_replay_begins_without_the_redactor() -> None:
    """A replay imports the masking code only when a line may contain a secret."""
    script = (
        "import acp_proxy.cli.main, acp_proxy.cli.playback.replay,"
        "acp_proxy.cli.store.list_, acp_proxy.playback.shared.message_mask,"
        "acp_proxy.cli.screens.output\n"
        "from acp_proxy.cli.masking import without_secrets\n"
        "from acp_proxy.playback.shared.message_mask import MessageMask\n"
        "without_secrets('a plain text'); mask = MessageMask(None); mask.masked(b'{}')\n"
        'mask.note(b\'{"authMethods":[]}\'); mask.masked(b\'{"auth": {"terminal": true}}\')\n'
        "tell()"
    )
    assert redaction_after(script) == {"key_formats", "markers", "needles"}


def test_a_replay_without_a_file_of_rules_reads_no_toml() -> None:
    """If `replay` has no `--rules` file, it does not import the modules that read TOML rules."""
    script = (
        "import sys\nfrom acp_proxy.cli.playback.replay import replay\n"
        "with replay.make_context('replay', ['x']): pass\n"
        "print(*sorted({'cattrs', 'tomllib'} & {*sys.modules}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout == "\n"


def test_only_a_batch_on_a_cluster_needs_dask() -> None:
    """No module of the command line imports dask; `--executor dask` without dask is refused."""
    script = (
        "import importlib, pkgutil, sys, acp_proxy.cli\n"
        "for module in pkgutil.walk_packages(acp_proxy.cli.__path__, 'acp_proxy.cli.'):\n"
        "    importlib.import_module(module.name)\n"
        "from acp_proxy.cli.batches.run_batch import executor_of\n"
        "extra = {'dask', 'distributed', 'fsspec', 'tornado', 'yaml'}\n"
        "print(sorted(extra & {name.partition('.')[0] for name in sys.modules}))\n"
        "for name in extra: sys.modules[name] = None\n"
        "try: executor_of('dask=x:1', None)\n"
        "except Exception as e: print(type(e).__name__, e)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    install = "pip install '/path/to/acp-proxy[dask]', with the checkout or the wheel"
    assert result.stdout.splitlines() == [
        "[]",
        f"Refusal --executor dask needs dask: {install}",
    ]


def test_a_short_command_never_looks_for_garbage() -> None:
    """The garbage collector does not run during `show` of a small recording."""
    recording = PACKAGE.parent / "recordings" / "hello.db"
    script = (
        "import gc, os, sys; looks = []; gc.collect();"
        "gc.callbacks.append(lambda phase, info: looks.append((phase, info)));"
        "sys.argv[1:] = ['inspect', 'show', sys.argv[1]];"
        "sys.stdout = open(os.devnull, 'w');"
        "import atexit; atexit.register(lambda: sys.stderr.write(f'{looks}'));"
        "from acp_proxy.entry import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, recording], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "[]")


def test_a_recorded_conversation_is_replayed_without_the_redactor() -> None:
    """If a recording has no secrets, a replay imports only a few modules of `redaction`."""
    script = (
        "import io, acp_proxy.cli.playback.replay as command\n"
        "from pathlib import Path\n"
        "from acp_proxy.playback.replay.replay import Replay\n"
        "from acp_proxy.playback.replay.replay_state import ReplayOptions\n"
        "from acp_proxy.playback.events import LineReceived\n"
        "from acp_proxy.store.reader import RecordingReader\n"
        "from acp_proxy.store.queries.recorded_steps import RecordedSteps\n"
        "reader = RecordingReader(Path('recordings/hello.db'), unredacted=True)\n"
        "replay = Replay(RecordedSteps(reader), ReplayOptions())\n"
        "rows = reader.frames()\n"
        "lines = [row['raw'] for row in rows if row['stream'] == 'to-agent']\n"
        "for n, line in enumerate(lines): [*replay.feed(LineReceived(line, n))]\n"
        "assert (replay.state.divergences.found, replay.sender.sent) == ([], 9)\n"
        "tell()"
    )
    assert redaction_after(script) == {"key_formats", "markers", "needles"}


@pytest.mark.parametrize("options", [(), ("--fault", "duplicate")])
def test_the_recorder_spawns_the_agent_without_the_redactor(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    """`record` imports no masking code before the agent starts."""
    script = (
        "from acp_proxy.record.capture.agent_process import AgentProcess\n"
        "AgentProcess.spawn = tell\n"
        "sys.argv = ['acp-proxy', *sys.argv[1:]]\n"
        "from acp_proxy.entry import main\n"
        "main()\n"
    )
    recording = tmp_path / "x.db"
    actual = redaction_after(script, "record", "-o", recording, *options, "--", "true")
    assert recording.with_name("x.db.log").exists()
    assert actual == set()


def test_opening_a_recording_loads_no_reader_of_other_logs() -> None:
    """To open a recording, acp-proxy does not import the code that reads other tools' logs."""
    script = (
        "import sys; from pathlib import Path; from acp_proxy.store.reader import RecordingReader\n"
        "for path in sys.argv[1:]:\n"
        "    with RecordingReader(Path(path)) as reader: list(reader.frames())\n"
        "print(*[name for name in sys.modules if 'acp_proxy.imports' in name])"
    )
    root = PACKAGE.parent
    paths = (root / "recordings/tour.db", root / "tests/data/text_form/minimal.jsonl")
    result = subprocess.run(
        [sys.executable, "-c", script, *map(str, paths)], check=True, capture_output=True, text=True
    )
    assert result.stdout == "\n"
