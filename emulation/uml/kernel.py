"""User-mode Linux: Debian's kernel as a process, booted on this machine's own files.

It has sch_netem, whatever this machine's kernel lacks; one processor of about three quarters of
this machine's speed, system calls many times as dear, and a network of its own. Needs root and
Debian's package user-mode-linux. What runs there sees and changes this machine's files; /run, /dev
and /dev/shm are its own. Sources: Documentation/virt/uml of the kernel, linux.uml(1).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

KERNEL: Final = "linux.uml"
MODULES: Final = Path("/usr/lib/uml/modules")
LOADED: Final = ("sch_netem", "sch_fq", "sch_tbf", "veth", "tun")
MEMORY: Final = "1536M"
PATIENCE: Final = 1200.0
"""Seconds for a command; the kernel takes three of them to boot and to end."""
_LAST_WORDS: Final = 12
"""Lines of the kernel's that an error repeats."""
_INIT: Final = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/netns /run/tmp /dev/shm
mount -t tmpfs shm /dev/shm
exec </dev/null >/dev/tty1 2>&1
{loads} && ip link set lo up && cd {folder} && env -i {environment} {command}
echo $? > {status}
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


class NoKernel(OSError):
    """It can't be had here, or did not do what it was to; the message says why."""


def missing() -> str:
    """Why there is no such kernel here; empty: there is."""
    if shutil.which(KERNEL) is None:
        return "user-mode Linux is not here (as root: apt-get install user-mode-linux)"
    if os.geteuid() != 0:
        return "user-mode Linux on this machine's own files needs root"
    try:
        _modules()
    except NoKernel as error:
        return str(error)
    return ""


async def run(
    command: Sequence[str],
    *,
    say: Callable[[str], None],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Boot it, run a command in `folder`, end it; the command's exit code. Raises NoKernel.

    `say` is told each line that the command says. `environment`: besides PATH, HOME and TMPDIR.
    """
    if why := missing():
        raise NoKernel(why)
    with TemporaryDirectory(prefix="sluice-uml-") as name:
        place = Path(name)
        status = place / "status"
        (place / "init").write_text(_init(command, folder, status, environment or {}))
        (place / "init").chmod(0o700)
        words = await _booted(place / "init", say, home=place)
        try:
            return int(status.read_text())
        except (OSError, ValueError) as error:
            last = "\n".join(words[-_LAST_WORDS:])
            raise NoKernel(f"user-mode Linux ended before the command did:\n{last}") from error


async def boot(root: Path, init: str, *, patience: float = PATIENCE) -> list[str]:
    """Boot it on other files than this machine's, with `init`, until that ends it; what it said.

    Unlike `run` it changes those files alone. Raises NoKernel.
    """
    if shutil.which(KERNEL) is None:
        raise NoKernel(missing())
    with TemporaryDirectory(prefix="sluice-uml-") as name:
        return await _booted(
            Path(init), lambda _: None, home=Path(name), root=root, patience=patience
        )


def _init(
    command: Sequence[str], folder: Path, status: Path, environment: Mapping[str, str]
) -> str:
    loads = (sys.executable, "-I", "-S", str(Path(__file__).with_name("modules.py")), *_modules())
    inside = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/run",
        "TMPDIR": "/run/tmp",
        "LANG": "C.UTF-8",
        **environment,
    }
    return _INIT.format(
        loads=shlex.join(loads),
        folder=shlex.quote(str(folder)),
        environment=shlex.join(f"{name}={value}" for name, value in inside.items()),
        command=shlex.join(command),
        status=shlex.quote(str(status)),
    )


def _modules() -> list[str]:
    """Their files. Raises NoKernel."""
    found = {path.stem: str(path) for path in sorted(MODULES.rglob("*.ko"))}
    lacking = [name for name in LOADED if name not in found]
    if lacking:
        raise NoKernel(f"user-mode Linux has no module {', '.join(lacking)} in {MODULES}")
    return [found[name] for name in LOADED]


async def _booted(
    init: Path,
    say: Callable[[str], None],
    *,
    home: Path,
    root: Path = Path("/"),
    patience: float = PATIENCE,
) -> list[str]:
    """Until it has ended; the kernel's own lines."""
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(KERNEL, f"mem={MEMORY}", "rootfstype=hostfs", f"rootflags={root}", "rw"),
            *(
                f"init={init}",
                "con=null",
                "con0=null,fd:1",
                f"con1=null,fd:{writing}",
                f"uml_dir={home}",
                "quiet",
            ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(writing,),
        )
    finally:
        os.close(writing)
    try:
        assert process.stdout is not None
        words: list[str] = []
        async with asyncio.timeout(patience), asyncio.TaskGroup() as tasks:
            tasks.create_task(_lines(await _reader(reading), say))
            tasks.create_task(_lines(process.stdout, words.append))
            await process.wait()
        return words
    except TimeoutError as error:
        raise NoKernel(f"the command has not ended within {patience:.0f} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()  # its own processes are its threads, as far as this kernel knows
        await process.wait()


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    file = os.fdopen(descriptor, "rb", 0)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


async def _lines(reader: asyncio.StreamReader, say: Callable[[str], None]) -> None:
    async for line in reader:
        say(line.decode(errors="replace").rstrip())
