"""Makes a file at one go: it is there when it is whole, and what was there is kept until then."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from acp_proxy.cli.main import Refusal
from acp_proxy.plain_files import reason


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Opens a file to write, for its owner alone; it appears when the block ends well.

    No symbolic link is followed but those of the directories that lead to it.

    Args:
        path: where it will be.
        force: whether to replace a file that is there.

    Raises:
        Refusal: something is there and may not be replaced, or nothing can be written there.
    """
    try:
        path = path.parent.resolve() / path.name
    except OSError as e:  # the working directory is gone
        raise Refusal(f"cannot write {path}: {reason(e)}") from None
    _check(path, force=force)
    made = None
    try:
        fd, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        made = Path(name)
        with open(fd, "wb") as file:  # noqa: PTH123  a descriptor
            yield file
        if not force:
            path.touch(0o600, exist_ok=False)
        made = made.replace(path) and None
    except FileExistsError:
        raise _taken(path) from None
    except BrokenPipeError:
        raise
    except OSError as e:
        raise Refusal(f"cannot write {path}: {reason(e)}") from None
    finally:
        if made is not None:
            made.unlink(missing_ok=True)


def _check(path: Path, *, force: bool) -> None:
    if path.is_symlink():
        raise Refusal(f"cannot write {path}: it is a symbolic link; give the path it leads to")
    if os.path.lexists(path) and not path.is_file():
        raise Refusal(f"cannot write {path}: it is no plain file")
    if path.exists() and not force:
        raise _taken(path)


def _taken(path: Path) -> Refusal:
    return Refusal(f"{path} exists; expected the path of a new file, or --force to replace it")
