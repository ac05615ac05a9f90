"""`sluice pair`: what its options mean; pairing/command.py does it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from cli.command import REFUSED, notice
from cli.options import ConfigFile, State
from cli.settings import settings
from configuration import state_directory
from service.systemd import pairing_line, program, runs_remote


def pair(
    name: Annotated[str, typer.Argument(help="What to call the device. Default: device.")] = "",
    address: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT of this remote for the device. Default: where it listens."),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Show the paired devices.")] = False,
    revoke: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Let a device in no more, from this second on."),
    ] = None,
    qr: Annotated[
        bool, typer.Option("--qr", help="Draw the string for a phone's camera, too.")
    ] = False,
    state: State = None,
    config: ConfigFile = None,
) -> None:
    """On the remote's machine: make a device and print the string that pairs it."""
    from pairing import command
    from pairing.errors import PairingError
    from pairing.store import PairingStore

    found = settings(config, {"remote": {"address": address, "state": state}}).remote
    here = Path(found.state)
    usual = here == state_directory(os.environ) / "remote"
    if state is None and usual and not PairingStore(here).used and runs_remote():
        line = pairing_line(program(), name or "NAME", found.address or "HOST:PORT")
        notice(f"this machine's remote is its service, whose devices are paired by root: {line}")
        notice(f"to pair with one of your own, before its first start: --state {here}")
        raise typer.Exit(REFUSED)
    try:
        if revoke is not None:
            command.revoke(found, revoke, notice=notice)
        elif show:
            command.list_devices(found, out=typer.echo, notice=notice)
        else:
            draw = partial(typer.echo, err=True, color=True) if qr else None
            command.pair(found, name, out=typer.echo, notice=notice, draw=draw)
    except PairingError as error:
        notice(str(error))
        raise typer.Exit(REFUSED) from error
