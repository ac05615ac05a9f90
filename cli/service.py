"""`sluice service`: has the system run a proxy at every start, shows it, takes it away."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from cli.command import FAILED, REFUSED, notice
from cli.options import DryRun
from configuration import state_directory
from service import takeover
from service.systemd import ServiceError, Systemd, hints, program
from service.units import Role, Scope, Service

app = typer.Typer(
    help="Have systemd run a proxy at every start. A local proxy is its user's own; a remote one, "
    "installed by root, is the machine's and runs as a user of its own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Which(StrEnum):
    """The two proxies."""

    LOCAL = "local"
    REMOTE = "remote"

    @property
    def role(self) -> Role:
        return "local" if self is Which.LOCAL else "remote"

    @property
    def scope(self) -> Scope:
        """Whose manager runs it, of who asks."""
        return "system" if self is Which.REMOTE and _is_root() else "user"


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@app.command()
def install(
    which: Annotated[Which, typer.Argument(help="local or remote.")],
    arguments: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads it at run time
        typer.Argument(help="After --: options of the proxy, such as -- --listen 0.0.0.0:8119"),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Run a proxy from now on, and at every start of the machine (remote) or login (local)."""
    manager = Systemd(which.scope, say=typer.echo, dry_run=dry_run)
    try:
        service = Service(which.role, which.scope, program(), tuple(arguments or ()))
        manager.install(service)
    except ServiceError as error:
        notice(str(error))
        raise typer.Exit(FAILED) from error
    if not dry_run:
        notice(f"{service.name} runs: {manager.state(which.role)}")
    for line in hints(service):
        notice(line)
    before = takeover.by_hand(_states()) if service.scope == "system" else None
    if before is not None:
        notice(f"{before} has the pairings of a remote that ran by hand; the service has none yet")
        notice(f"to take them along: {takeover.line(before)}")


def _states() -> list[Path]:
    """Where whoever asks has kept a remote's state: root, and who has become root by sudo."""
    user = os.environ.get("SUDO_USER", "")
    own = state_directory(os.environ)
    return [own, Path(f"~{user}").expanduser() / ".local/share" / own.name] if user else [own]


@app.command()
def remove(
    which: Annotated[Which, typer.Argument(help="local or remote.")], dry_run: DryRun = False
) -> None:
    """Run it no more. What it has kept stays; `sluice uninstall` takes that away as well."""
    manager = Systemd(which.scope, say=typer.echo, dry_run=dry_run)
    try:
        there = manager.remove(which.role)
    except ServiceError as error:
        notice(str(error))
        raise typer.Exit(FAILED) from error
    if not there:
        notice(f"there is none in {manager.folder()}")
        raise typer.Exit(REFUSED)


@app.command()
def status() -> None:
    """Say which of them are installed, and how they are."""
    found = False
    scopes: tuple[Scope, ...] = ("user", "system")
    for scope in scopes:
        for which in Which:
            said = Systemd(scope, say=typer.echo).state(which.role)
            if said:
                found = True
                typer.echo(f"{which} ({scope}): {said}")
    if not found:
        notice("none is installed: sluice service install local")
        raise typer.Exit(FAILED)


def take_away(*, system: bool, dry_run: bool) -> bool:
    """Run none of them any more; whether all went well, for what did not is said. `system`: the
    machine's own, too, and the user as whom it ran."""
    well = True
    scopes: tuple[Scope, ...] = ("user", "system") if system else ("user",)
    for scope in scopes:
        manager = Systemd(scope, say=typer.echo, dry_run=dry_run)
        for which in Which:
            try:
                if manager.remove(which.role) and which is Which.REMOTE:
                    manager.forget_user()
            except ServiceError as error:
                notice(str(error))
                well = False
    return well
