"""A private key as a file for a moment: the ssl module takes keys by path only.

The file is in memory where the system has such files (Linux with /proc). Elsewhere it lies in a
folder of the owner's, with mode 0600, and is removed at once; never among the system's temporary
files, which are everybody's neighbours and outlive a crash.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def secret_file(content: bytes, *, folder: Path | None) -> Iterator[str]:
    """A path under which `content` can be read. Raises OSError.

    `folder`: where nobody but the owner can look, for systems without files in memory; None: these
    are refused.
    """
    handle = _in_memory()
    path = f"/proc/self/fd/{handle}"
    if handle is None:
        if folder is None:
            raise OSError("a private key would have to lie on the disk, and no folder is given")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=folder, prefix=".key-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            yield path
    finally:
        if not path.startswith("/proc/"):
            Path(path).unlink(missing_ok=True)


def _in_memory() -> int | None:
    """A file without a name; None: the system has none, or no path that leads to it."""
    if not hasattr(os, "memfd_create") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.memfd_create("secret")
    except OSError:  # a sandbox that does not allow it
        return None
