"""Sluice's command line: the one place that composes both proxies."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from cli.command import FAILED, LogForm, notice
from cli.command import run as run_until_told
from cli.options import (
    ConfigFile,
    DryRun,
    Log,
    LogUrls,
    Pairing,
    RemoteAddress,
    Security,
    State,
    Verbose,
)
from cli.pair import pair
from cli.service import app as service_app
from cli.service import take_away
from cli.settings import address, settings
from configuration import LocalSettings, RemoteSettings, user_file
from service.systemd import program, runs_remote
from setting_values import how_many, split_address
from version import VERSION

if TYPE_CHECKING:
    from local_proxy.commands.open_document import OpenWith

app = typer.Typer(
    help="A proxy pair that makes a slow link feel fast. Start `sluice remote` on the fast side, "
    "pair the device with `sluice pair`, start `sluice local` there, and set the browser's HTTP "
    "proxy to the local one.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(service_app, name="service")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sluice {VERSION}")
        raise typer.Exit


@app.callback()
def every_command(
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Say which this is."),
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command()
def remote(
    listen: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT for local proxies; 0.0.0.0:8119 for all. Port 0: any free."),
    ] = None,
    security: Security = None,
    state: State = None,
    congestion: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="TCP congestion control of the link: cubic, bbr, reno."),
    ] = None,
    allow: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A host, *.domain, address or network of its own to reach; repeatable."),
    ] = None,
    processes: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="How many serve devices, each at a port of its own; auto: by processor."),
    ] = None,
    status: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT for /health and /metrics. Default: nowhere."),
    ] = None,
    beside: Annotated[Optional[str], typer.Option(hidden=True)] = None,  # noqa: UP045
    config: ConfigFile = None,
    verbose: Verbose = False,
    log_urls: LogUrls = False,
    log: Log = LogForm.HUMAN,
) -> None:
    """Run the remote proxy, on the fast side of the link."""
    flags = {
        "listen": listen,
        "congestion": congestion,
        "security": security,
        "state": state,
        "allow": allow or None,
        "processes": processes,
        "status": status,
    }
    found = settings(config, {"remote": flags}, serves=beside is None).remote
    count = how_many(found.processes)
    if count > 1:
        from remote_proxy.processes import group

        main = group.run(found, [*program(), *sys.argv[1:]], count)
    else:
        from remote_proxy.main import run

        ports = None if beside is None else [int(port) for port in beside.split(",") if port]
        main = run(found, beside=ports)
    run_until_told(main, verbose=verbose, log_urls=log_urls, log=log)


@app.command()
def local(
    listen: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT for browsers."),
    ] = None,
    allow_clients: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="An address or network of other devices to serve; repeatable."),
    ] = None,
    remote: RemoteAddress = None,
    pair: Pairing = None,
    security: Security = None,
    state: State = None,
    transport: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="What carries the link: tcp, atp-udp (TCP where UDP is blocked), atp-tcp."
        ),
    ] = None,
    policy: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A built-in name, module:attribute or FILE.py; may be repeated."),
    ] = None,
    congestion: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Congestion control of the link: background gives way to other programs of the "
            "line; cubic, bbr, reno are its TCP's."
        ),
    ] = None,
    export: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="How pictures are refined: auto, swap, multipart, stream."),
    ] = None,
    patience: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Seconds a request waits for a lost link before the browser is told."),
    ] = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
    log_urls: LogUrls = False,
    log: Log = LogForm.HUMAN,
) -> None:
    """Run the local proxy, on the device behind the slow link."""
    from local_proxy.serving import run

    flags = {
        "listen": listen,
        "allow_clients": allow_clients or None,
        "remote": remote,
        "pair": _pairing(pair),
        "security": security,
        "state": state,
        "transport": transport,
        "policy": policy or None,
        "congestion": congestion,
        "export": export,
        "patience": patience,
    }
    found = settings(config, {"local": flags}, serves=True)
    run_until_told(run(found.local), verbose=verbose, log_urls=log_urls, log=log)


app.command()(pair)


@app.command()
def observe(
    listen: Annotated[
        str, typer.Option(help="HOST:PORT for sensors and for who asks; UDP. Port 0: any free.")
    ] = "127.0.0.1:8120",
    throughput: Annotated[
        bool,
        typer.Option(
            "--throughput",
            help="Judge transport sensors' connections by models of TCP Reno.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Collect what sensors of any program see of their connections, and answer what they carry."""
    from observation.daemon import run

    host, port = address("--listen", listen)
    run_until_told(run(host, port, throughput=throughput), verbose=verbose, log_urls=False)


@app.command()
def demo(
    profile: Annotated[str, typer.Option(help="Link: 56k, 128k, 384k, 1.6M ...")] = "384k",
    report: Annotated[Path, typer.Option(help="Folder for report.json and index.html.")] = Path(
        "demo-report"
    ),
    stay: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option("--stay/--no-stay", help="Stay up to be tried. Default: on a terminal."),
    ] = None,
) -> None:
    """Load two pages over an emulated slow link, directly and through Sluice, and compare."""
    from bench.demo import main as run_demo

    code = run_demo(profile=profile, report_dir=report, stay=stay)
    raise typer.Exit(code)


@app.command()
def status(
    proxy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT of the local proxy. Default: as configured."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The whole state as JSON.")] = False,
    config: ConfigFile = None,
) -> None:
    """Show what a running local proxy does: link, bandwidth, documents, savings."""
    from local_proxy.commands.status import show

    found = settings(config, {"local": {"listen": proxy}})
    host, port = split_address(found.local.listen)
    raise typer.Exit(asyncio.run(show(host, port, as_json=json, state=Path(found.local.state))))


@app.command()
def browse(
    url: Annotated[str, typer.Argument(help="What to show first.")] = "http://sluice.local/",
    browser: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="chromium, firefox or a path. Default: the first that is installed."),
    ] = None,
    headless: Annotated[bool, typer.Option(help="Without a window, for scripts.")] = False,
    listen: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT of the local proxy, used if it runs and else started."),
    ] = None,
    remote: RemoteAddress = None,
    pair: Pairing = None,
    security: Security = None,
    state: State = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
    log_urls: LogUrls = False,
) -> None:
    """Open a browser with all set, in a profile that is thrown away when it closes."""
    from browsers.session import run

    flags = {
        "listen": listen,
        "remote": remote,
        "pair": _pairing(pair),
        "security": security,
        "state": state,
    }
    found = settings(config, {"local": flags}, serves=True)

    @asynccontextmanager
    async def stand_in() -> AsyncIterator[LocalSettings]:
        from remote_proxy.main import serving

        here = RemoteSettings(listen="127.0.0.1:0", security="none")
        async with serving(here) as address:
            yield msgspec.structs.replace(found.local, remote=address, security="none")

    browsing = run(url, browser, found.local, stand_in, headless=headless)
    run_until_told(browsing, verbose=verbose, log_urls=log_urls, ends=(signal.SIGHUP,))


@app.command("open")
def open_document(
    url: Annotated[str, typer.Argument(help="Address of a presentation, text or spreadsheet.")],
    plain: Annotated[
        bool, typer.Option("--plain", help="Only fetch it; start no office suite.")
    ] = False,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--output", "-o", help="Where to keep it. Default: here, by its own name."),
    ] = None,
    proxy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT of the running local proxy. Default: as configured."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Open an office document: text first, pictures coarse before fine, at last the same file."""
    from local_proxy.commands.open_document import run

    found = settings(config, {"local": {"listen": proxy}})
    host, port = split_address(found.local.listen)
    open_with = None if plain else _office_suite()
    state = Path(found.local.state)
    opening = run(host, port, url, into=output, out=typer.echo, open_with=open_with, state=state)
    raise typer.Exit(asyncio.run(opening))


def _office_suite() -> OpenWith | None:
    """What shows documents while they come; None: nothing on this machine."""
    from local_proxy.commands.office_suite import suite

    return suite(notice)


@app.command()
def trust(
    remove: Annotated[bool, typer.Option("--remove", help="Undo it.")] = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
) -> None:
    """Make this user's browsers and the system trust the device's own certificate authority."""
    from browsers.trust import run

    found = settings(config, {})
    raise typer.Exit(run(Path(found.local.state), remove=remove, dry_run=dry_run))


@app.command()
def uninstall(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    system: Annotated[
        bool, typer.Option("--system", help="Of the machine's own service, too; takes root.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Take away all that Sluice has left: services, trust, keys, pairings, history, settings."""
    from browsers.trust import run as trust_run
    from service.removal import prune, traces
    from service.units import HOME, SETTINGS

    state = Path(settings(config, {}).local.state)
    places = [
        (state, "keys, pairings, history"),
        (user_file(os.environ).parent, "settings"),
        *([(HOME, "the service's keys and pairings"), (SETTINGS.parent, "settings")] * system),
    ]
    for trace in traces(places):
        typer.echo(f"remove {trace}")
    typer.echo("take back what `sluice trust` and `sluice service install` have done")
    if not dry_run and not yes:
        typer.confirm("All of this?", abort=True)
    well = take_away(system=system, dry_run=dry_run)
    if state.is_dir():
        well = trust_run(state, remove=True, dry_run=dry_run) == 0 and well
    if not well:
        notice("the folders stay until that is mended, for they name what was trusted")
        raise typer.Exit(FAILED)
    for trace in traces(places) if not dry_run else []:
        trace.remove()
        prune(trace.folder.parent, below=Path.home())
    if runs_remote() and not system:
        typer.echo("the machine's own remote stays, as root: sluice uninstall --system")
    typer.echo("the program itself: pipx uninstall sluice-proxy, or remove its folder")


def _pairing(given: str | None) -> str | None:
    return sys.stdin.readline().strip() if given == "-" else given


def main() -> None:
    """Entry point of the `sluice` command."""
    app()


if __name__ == "__main__":
    main()
