"""Loads modules into the kernel that runs: `python -I -S modules.py FILE...`.

Machines whose kernel can load none have no kmod. Knows nothing else of this project: each import
takes a second in a kernel that is a process. Source: finit_module(2).
"""

import ctypes
import os
import sys

FINIT_MODULE = 313
"""Its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl)."""


def main(files: list[str]) -> int:
    """Load each; 1 where one can't be."""
    library = ctypes.CDLL(None, use_errno=True)
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        if library.syscall(FINIT_MODULE, descriptor, b"", 0):
            print(f"{file} can't be loaded: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
            return 1
        os.close(descriptor)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
