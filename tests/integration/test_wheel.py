"""The archives of `make dist` have all files, and the wheel works in an empty environment.

Nothing is downloaded: the required packages are copied from the environment of the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from acp_proxy import __version__
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TRIAL = ROOT / "tests/tools/try_installed.py"
PLAIN_AGENT = ROOT / "tests/agents/plain_agent.py"
ENVIRONMENT = {
    k: v for k, v in os.environ.items() if not k.startswith(("ACP_PROXY_", "PYTHON", "PIP_"))
}
"""The environment without variables that would import modules of the checkout."""
BASE = {
    "ahocorasick-rs", "attrs", "cattrs", "click", "hypercorn", "jinja2", "jsonschema-rs", "msgspec",
    "sqlite-utils", "starlette", "trio", "wcwidth",
}  # fmt: skip
"""The packages installed without an extra; a package for few users is an extra."""


def run(*command: str | Path, cwd: Path = ROOT, said: bytes = b"") -> bytes:
    """Runs a program that must succeed, and returns its output."""
    result = subprocess.run(
        [*map(str, command)],
        input=said,
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=120,
    )
    sys.stderr.write(result.stderr.decode())
    assert result.returncode == 0, result.stdout.decode()
    return result.stdout


def build(directory: Path, kind: str, source: Path = ROOT) -> Path:
    """Builds a ``wheel`` or an ``sdist`` as `make dist` does, and returns the archive."""
    run(sys.executable, "-m", "hatchling", "build", "-d", directory, "-t", kind, cwd=source)
    (built,) = directory.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def source_files() -> set[str]:
    """Returns all files of the checkout that git does not ignore."""
    if (ROOT / ".git").exists():
        told = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").decode()
        return {name for name in told.split("\0") if name and (ROOT / name).exists()}
    everything = {path for path in ROOT.rglob("*") if path.is_file()}
    made = {".venv", "__pycache__", ".cache", "dist", ".hypothesis", ".pytest_cache"}
    made |= {".mypy_cache", ".ruff_cache"}
    names = {path.relative_to(ROOT) for path in everything}
    return {str(name) for name in names if not made & {*name.parts}} - {"PKG-INFO"}


def test_the_archives_have_every_file(wheel: Path, tmp_path: Path) -> None:
    """The wheel contains exactly the package, and the source archive all files of the checkout."""
    archive = build(tmp_path, "sdist")
    assert wheel.name == f"acp_proxy-{__version__}-py3-none-any.whl"
    about = f"acp_proxy-{__version__}.dist-info"
    package = {name for name in source_files() if name.startswith("acp_proxy/")}
    package -= {name for name in package if name.endswith("/README.md")}  # for developers
    assert "acp_proxy/py.typed" in package
    written = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    with zipfile.ZipFile(wheel) as packed:
        assert {*packed.namelist()} == package | {f"{about}/{name}" for name in written}
        assert packed.read("acp_proxy/api.py") == (ROOT / "acp_proxy/api.py").read_bytes()
    wanted = PathDistribution(zipfile.Path(wheel, f"{about}/"))
    assert {*runtime_requirements(wanted)} == BASE
    assert "dask" in (wanted.metadata.get_all("Provides-Extra") or ())
    with tarfile.open(archive) as unpacked:
        names = {name.partition("/")[2] for name in unpacked.getnames()}
        assert names == source_files() | {"PKG-INFO"}
        # Python 3.11.4 brought the filters.
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        unpacked.extractall(tmp_path, **safely)
    again = build(tmp_path / "again", "wheel", tmp_path / f"acp_proxy-{__version__}")
    assert again.read_bytes() == wheel.read_bytes()


def closure(wheel: Path) -> dict[str, Distribution]:
    """Returns the packages that a wheel requires, also indirectly, by name."""
    result: dict[str, Distribution] = {}
    about = zipfile.Path(wheel, f"acp_proxy-{__version__}.dist-info/")
    names = [*runtime_requirements(PathDistribution(about))]
    while names:
        name = canonicalize_name(names.pop())
        if name not in result:
            result[name] = distribution(name)
            names += runtime_requirements(result[name])
    return result


def runtime_requirements(package: Distribution) -> Iterator[str]:
    """Yields the names of the packages that a package requires, without extras."""
    for line in package.requires or ():
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield wanted.name


def copy_installed(package: Distribution, site_packages: Path) -> None:
    """Copies the installed files of a package, without its start scripts."""
    for file in package.files or ():
        if ".." not in file.parts:
            target = site_packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(package.locate_file(file)), target)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel of this checkout."""
    return build(tmp_path_factory.mktemp("built"), "wheel")


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """Installs the wheel and its required packages; returns the directory of programs."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    programs = environment / "bin"
    where = sysconfig.get_path("purelib", "venv", {"base": str(environment)})
    for package in closure(wheel).values():
        copy_installed(package, Path(where))
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile", "--no-index", "--no-deps")
    run(*pip, "install", *quiet, wheel)
    assert run(*pip, "check") == b"No broken requirements found.\n"
    return programs


LIBRARY = """
import sys, acp_proxy
assert acp_proxy.__file__.startswith(sys.prefix)
with acp_proxy.open(sys.argv[1]) as recording:
    print(recording.facts.state, len(list(recording.turns())))
    print("".join(message.text for message in recording.messages() if message.role == "agent"))
"""


@pytest.mark.slow
def test_the_built_wheel_records_replays_and_inspects(
    installed: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the checkout, the built wheel can record, replay, and print the frames with `log`."""
    capfd.readouterr()
    program, recording = installed / "acp-proxy", tmp_path / "hello.db"
    with RecordingReader(ROOT / "recordings/hello.db") as reader:
        rows = [(row["stream"], bytes(row["raw"]) + b"\n") for row in reader.frames()]
    client, agent = (
        b"".join(line for stream, line in rows if stream == item)
        for item in ("to-agent", "to-client")
    )
    command = ("--", sys.executable, "-IS", PLAIN_AGENT)
    assert run(program, "record", "-o", recording, *command, cwd=tmp_path, said=client) == agent
    log = run(program, "inspect", "log", recording, "--json", cwd=tmp_path).splitlines()
    frames = [json.loads(line) for line in log]
    assert len([frame for frame in frames if "stream" in frame]) == len(rows)
    lines = run(installed / "python", TRIAL, recording, cwd=tmp_path).decode().splitlines()
    assert lines == [f"acp-proxy, version {__version__}", "inspected 1, replayed 1"]
    told = run(installed / "python", "-c", LIBRARY, recording, cwd=tmp_path).decode()
    assert capfd.readouterr().err == ""
    assert told == "complete 1\nHello! Grüße, café, 你好, 😀.\n\n"
