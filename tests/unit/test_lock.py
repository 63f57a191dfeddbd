"""The packages for tests are locked, with hashes, in the ranges of the project's files."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.cases import each_case

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements/ci.txt").read_text()
NPM = ROOT / "tests/integration/npm"
_PIN = re.compile(r"^([a-zA-Z0-9._-]+)==(\S+)(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)

PINS = {canonicalize_name(name): (version, rest) for name, version, rest in _PIN.findall(LOCK)}
WANTED = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["project"]["optional-dependencies"]["dev"],
    *PROJECT["build-system"]["requires"],
]


@each_case("wanted", WANTED)
def test_a_dependency_is_locked_in_its_range(wanted: str) -> None:
    """Each dependency of acp-proxy is locked at a version in the range of pyproject.toml."""
    requirement = Requirement(wanted)
    version, _ = PINS[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)


def test_every_package_has_a_hash_and_no_source() -> None:
    """Each locked Python package has a hash, and the lock file names no package index."""
    assert len(PINS) == LOCK.count("==") - LOCK.count(" == ") - LOCK.count("python_full_version ==")
    assert all("--hash=sha256:" in rest for _, rest in PINS.values())
    assert not re.search(r"://|--(extra-)?index|--find-links", LOCK)


def test_the_environment_is_made_of_the_lock() -> None:
    """The Makefile installs the virtual environment from the lock file with hashes."""
    makefile = (ROOT / "Makefile").read_text()
    assert "--require-hashes --requirement $(LOCK)" in makefile
    assert "--no-deps --no-build-isolation --editable ." in makefile


def test_packages_of_npm_are_locked() -> None:
    """Each npm package of the tests is locked with a hash."""
    manifest = json.loads((NPM / "package.json").read_text())
    lock = json.loads((NPM / "package-lock.json").read_text())["packages"]
    for group in ("dependencies", "optionalDependencies"):
        assert lock[""][group] == manifest[group]
        for name, version in manifest[group].items():
            assert lock[f"node_modules/{name}"]["version"] == version
    packages = [package for place, package in lock.items() if place]
    assert all(package["integrity"].startswith("sha512-") for package in packages)
    assert not any("resolved" in package for package in packages)
