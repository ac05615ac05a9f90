"""`sluice pair`: what its options mean; pairing/command.py does it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Optional

import typer

from cli.command import REFUSED, notice
from cli.options import ConfigFile, State
from cli.settings import settings


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

    found = settings(config, {"remote": {"address": address, "state": state}}).remote
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
