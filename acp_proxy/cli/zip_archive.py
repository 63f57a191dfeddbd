"""Makes ZIP archives part by part; the same files make the same bytes."""

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping

_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that the format has."""
_UNIX = 3
_OWNER_ALONE = 0o600 << 16


class _Parts(io.RawIOBase):
    """Takes what a `ZipFile` writes, until it is collected."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._written.append(piece)
        return len(piece)

    def collected(self) -> bytes:
        """Returns what was written since the last call."""
        data, self._written = b"".join(self._written), []
        return data


def zip_parts(files: Mapping[str, Iterable[bytes]], sizes: dict[str, int]) -> Iterator[bytes]:
    """Yields an archive; memory stays flat.

    Args:
        files: the parts of each file, by its name.
        sizes: takes the sizes of the files as they are written, in bytes.
    """
    made = _Parts()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in files.items():
            info = zipfile.ZipInfo(name, _NO_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = _UNIX
            info.external_attr = _OWNER_ALONE
            sizes[name] = 0
            # The size is not known before; a file of more than 2 GiB needs the larger format.
            with archive.open(info, "w", force_zip64=True) as file:
                for part in parts:
                    sizes[name] += len(part)
                    file.write(part)
                    if data := made.collected():
                        yield data
    yield made.collected()
