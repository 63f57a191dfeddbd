"""Writes the files of types in `acp_proxy/check/` from the official schemas.

``make schemas`` gets the schemas from npm, with the version and checksum in the lock of
`tests/integration/npm`. First, the types of each version are derived into `tests/data/schemas`.
Then the types of a dialect are merged from its versions. The program checks that derived types and
original schema agree on each example in `tests/data/protocol`. The 1.0 draft has no schema file;
its types were written by hand.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator

from acp_proxy.check.schema_check import DIRECTORY
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from tests.support import protocol_documents
from tests.support.schema_derivation import derive
from tests.support.schema_merging import merged

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "tests/integration/npm/package-lock.json"
CACHE = ROOT / ".cache/schemas"
PACKAGE = "@agentclientprotocol/sdk"
FILES = {
    "v1": "schema/v1/schema.json",
    "v1-unstable": "schema/v1/schema.unstable.json",
    "v2": "schema/v2/schema.json",
    "v2-unstable": "schema/v2/schema.unstable.json",
}
"""The current schemas, by version."""
FORMER = {
    "v1-1.4.0": ("1.4.0", "schema/schema.json"),
    "v1-0.29.0": ("0.29.0", "schema/schema.json"),
    "v1-0.18.2": ("0.18.2", "schema/schema.json"),
    "v2-1.4.0": ("1.4.0", "schema/v2/schema.unstable.json"),
}
"""Older unstable schemas; they have types that were dropped since, but that programs still use."""
REQUIRED = ROOT / "acp_proxy/explain/show/required_params.json"
ENUMERATED = ROOT / "acp_proxy/redaction/enumerated.json"
FIRST = ("sessionId", "cwd")
"""Params that a message names first if several are missing."""
CANCEL = "to-agent session/cancel"
"""The notification that some clients wrongly send as a request."""
DIALECTS = {
    V1: ("v1", "v1-unstable", "v1-1.4.0", "v1-0.29.0", "v1-0.18.2"),
    V2: ("v2", "v2-unstable", "v2-1.4.0"),
}
"""The versions from which the types of each dialect are merged."""
VERSIONS = ROOT / "tests/data/schemas"
INTEGRITY = {
    "0.18.2": "sha512-l/o9NKvUc00GPa6RFJ4AccQq2O/PAf83xQ75mThHuL3H571iN4+PEdwnTBez67sS"
    "8Nv2aSA373xCZ5CbTXEwzA==",
    "0.29.0": "sha512-Sb8xJ/cIhqlvxeJiB0+1scBk0LAkVAwJ9WAFG9XCe3LEI5JWAyOxbqaCa8O1HmNn"
    "rk4+qHN11eaKH6zL2iHIYA==",
    "1.4.0": "sha512-/eufudw+aFY1LKLolT6yFE6UMmYRl7fMJ/DEONSIyR6wI3slHWITBsANRGqXEY8FR"
    "zqUxwh7QEaGiZHcJPVThg==",
}
"""The checksums of older packages, as npm writes them."""


def main() -> int:
    """Writes all files of types; returns the exit code."""
    version, integrity = pinned()
    today = {name: (version, file) for name, file in FILES.items()}
    checksums = {**INTEGRITY, version: integrity}
    packages = {item: fetched(item, checksum) for item, checksum in checksums.items()}
    for name, (of, file) in {**today, **FORMER}.items():
        data = (packages[of] / file).read_bytes()
        results = derived(data, f"{PACKAGE} {file}", of)
        differing = differences(json.loads(data), results)
        (VERSIONS / f"{name}.json").write_bytes(written(results))
        print(f"{name}: {len(results['types'])} types", *differing, sep="\n")  # noqa: T201
        if differing:
            return 1
    for dialect in DIALECTS:
        (DIRECTORY / f"{dialect}.json").write_bytes(written(of_dialect(dialect)))
    REQUIRED.write_text(required_params())
    ENUMERATED.write_text(enumerated())
    return 0


def derived(data: bytes, source: str, version: str) -> dict[str, Any]:
    """Returns the types that are derived from an official schema file.

    Args:
        data: the bytes of the file.
        source: the package and the name of the file.
        version: the version of the package.
    """
    checksum = hashlib.sha256(data).hexdigest()
    types = derive(json.loads(data)["$defs"])
    return {"source": source, "version": version, "sha256": checksum, **types}


@cache
def of_version(name: str) -> dict[str, Any]:
    """Returns the derived types of a version, such as ``v1-unstable``, from their file."""
    types: dict[str, Any] = json.loads((VERSIONS / f"{name}.json").read_bytes())
    return types


def of_dialect(dialect: str) -> dict[str, Any]:
    """Returns the types of a dialect, merged from those of its versions."""
    versions = [*map(of_version, DIALECTS[dialect])]
    comment = ", ".join(f"{version['source']} {version['version']}" for version in versions)
    return {"$comment": comment, **merged(versions, names_values=dialect == V2)}


def required_params() -> str:
    """Returns a JSON file: the required params of each request, by dialect and direction."""
    results: dict[str, dict[str, dict[str, str]]] = {}
    for dialect in (*DIALECTS, DRAFT):
        schema = json.loads((DIRECTORY / f"{dialect}.json").read_bytes())
        methods = results[dialect] = {}
        for member, form in schema["properties"].items():
            part, name = member.split(" ", 1)
            if part == "params" and (f"result {name}" in schema["properties"] or name == CANCEL):
                params = _required(form, schema["$defs"])
                first = [item for item in FIRST if item in params]
                methods[name] = {item: params[item] for item in (*first, *params)}
    return json.dumps(results, indent=1) + "\n"


def enumerated() -> str:
    """Returns a JSON file: the words that the types enumerate, by the name of the member."""
    results: dict[str, set[str]] = {}

    def collect(form: Any, name: str) -> None:
        if isinstance(form, dict):
            words = [*form.get("enum", ()), form.get("const")]
            results.setdefault(name, set()).update(w for w in words if isinstance(w, str))
            for member, inner in form.items():
                if member == "properties":
                    for each, its_form in inner.items():
                        collect(its_form, each)
                else:
                    collect(inner, name)
        elif isinstance(form, list):
            for inner in form:
                collect(inner, name)

    for dialect in (*DIALECTS, DRAFT):
        schema = json.loads((DIRECTORY / f"{dialect}.json").read_bytes())
        for form in (*schema["properties"].values(), *schema["$defs"].values()):
            collect(form, "")
    words = {name: sorted(results[name]) for name in sorted(results) if name and results[name]}
    return json.dumps(words, indent=1) + "\n"


def _required(form: dict[str, Any], types: dict[str, Any]) -> dict[str, str]:
    """Returns the params that a form requires in all of its branches, with their JSON types."""
    if "$ref" in form:
        form = types[form["$ref"].removeprefix("#/$defs/")]
    branches = [other["then"] for other in form.get("allOf", ())] or form.get("anyOf", ())
    if "if" in form:
        branches = [form["then"], form["else"]]
    first, *others = [_required(other, types) for other in branches] or [{}]
    results = {
        name: kind if all(other[name] == kind for other in others) else "any"
        for name, kind in first.items()
        if all(name in other for other in others)
    }
    for name in form.get("required", ()):
        kind = form.get("properties", {}).get(name, {}).get("type")
        results[name] = kind if isinstance(kind, str) else "any"
    return results


def written(types: dict[str, Any]) -> bytes:
    """Returns types as the contents of a file."""
    return json.dumps(types, separators=(",", ":")).encode() + b"\n"


def pinned() -> tuple[str, str]:
    """Returns the version and the checksum of the package in the lock of npm."""
    entry = json.loads(LOCK.read_bytes())["packages"][f"node_modules/{PACKAGE}"]
    return entry["version"], entry["integrity"]


def fetched(version: str, integrity: str) -> Path:
    """Downloads a version of the package, checks it, and returns its directory.

    Args:
        version: the version of the package.
        integrity: the checksum, as npm writes it.
    """
    directory = CACHE / version
    directory.mkdir(parents=True, exist_ok=True)
    command = ["npm", "pack", "--json", f"{PACKAGE}@{version}"]
    result = subprocess.run(command, cwd=directory, check=True, stdout=subprocess.PIPE)
    (packed,) = json.loads(result.stdout)
    if packed["integrity"] != integrity:
        raise SystemExit(f"schemas: {PACKAGE} {version} is not what is pinned")
    subprocess.run(["tar", "-xzf", packed["filename"]], cwd=directory, check=True)
    return directory / "package"


def differences(original: dict[str, Any], types: dict[str, Any]) -> list[str]:
    """Returns the examples on which the derived types and the official schema disagree.

    Args:
        original: the official schema.
        types: the types that were derived from the schema.
    """
    results = []
    examples = [
        *protocol_documents.official(),
        *protocol_documents.schemas(),
        *protocol_documents.draft(),
    ]
    for part in ("params", "results"):
        for direction, methods in types[part].items():
            for method, form in methods.items():
                item, other = (
                    Draft202012Validator({**form, "$defs": of}, offline=True)
                    for of in (original["$defs"], types["types"])
                )
                for example in examples:
                    value = example.message.get("params", example.message.get("result"))
                    if item.is_valid(value) != other.is_valid(value):
                        results.append(f"{method} {direction} {part}: {json.dumps(value)}")
    return results


if __name__ == "__main__":
    sys.exit(main())
