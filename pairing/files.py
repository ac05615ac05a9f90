"""State files: readable by their owner only, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ownership import NotOwn, check_own
from pairing.errors import PairingError


def private_folder(folder: Path) -> None:
    """Make it with mode 0700, or take everybody else's rights away. Raises PairingError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        check_own(folder)
    except NotOwn as error:
        raise PairingError(str(error)) from error
    except OSError as error:
        raise PairingError(f"{folder} can't be used: {error.strerror or error}") from error


def write_private(path: Path, data: bytes, *, replace: bool = True) -> bool:
    """Write `path` with mode 0600, atomically, its folder made private first.

    `replace` False: leave what is there. Returns whether it was written. Raises PairingError.
    """
    private_folder(path.parent)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # mode 0600
    except OSError as error:
        raise PairingError(f"{path.parent} can't be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            Path(name).replace(path)
            return True
        os.link(name, path)  # fails if the path exists, where a rename would replace it
        return True
    except FileExistsError:
        return False
    except OSError as error:
        raise PairingError(f"{path} can't be written: {error.strerror or error}") from error
    finally:
        Path(name).unlink(missing_ok=True)


def read_private(path: Path, *, limit: int = 65536) -> bytes | None:
    """At most `limit` bytes of a file; None if there is none. Raises PairingError, also where
    somebody else could have written it: it says who is trusted."""
    try:
        check_own(path)
        with path.open("rb") as file:
            return file.read(limit)
    except FileNotFoundError:
        return None
    except NotOwn as error:
        raise PairingError(str(error)) from error
    except OSError as error:
        raise PairingError(f"{path} can't be read: {error.strerror or error}") from error
