"""Sluice's command line: the one place that composes both proxies."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import msgspec
import structlog
import typer

from configuration import (
    LocalSettings,
    RemoteSettings,
    Settings,
    SettingsError,
    load,
    split_address,
)
from redaction import hide_queries

if TYPE_CHECKING:
    from local_proxy.packages.command import OpenWith

app = typer.Typer(
    help="A proxy pair that makes a slow link feel fast. Start `sluice remote` on the fast side, "
    "pair the device with `sluice pair`, start `sluice local` there, and set the browser's HTTP "
    "proxy to the local one.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ConfigFile = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads it at run time
    typer.Option(
        "--config", "-c", help="TOML file. Default: ./sluice.toml, then ~/.config/sluice/"
    ),
]
Security = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Of the link: tls, or none (on loopback only)."),
]
RemoteAddress = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="HOST:PORT of the remote or of a tunnel to it. Default: as paired."),
]
Pairing = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="What `sluice pair` printed; it's kept for later starts. - reads it from "
        "standard input, which keeps it out of the list of processes."
    ),
]
State = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Folder of what is kept: keys, pairings. Default: under ~/.local/share/."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log what happens, not only faults.")
]
LogUrls = Annotated[
    bool, typer.Option("--log-urls", help="Log whole URLs: else without queries and passwords.")
]


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
    config: ConfigFile = None,
    verbose: Verbose = False,
    log_urls: LogUrls = False,
) -> None:
    """Run the remote proxy, on the fast side of the link."""
    from remote_proxy.main import run

    flags = {
        "listen": listen,
        "congestion": congestion,
        "security": security,
        "state": state,
        "allow": allow or None,
    }
    settings = _settings(config, {"remote": flags})
    _run(run(settings.remote), verbose=verbose, log_urls=log_urls)


@app.command()
def local(
    listen: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT for browsers."),
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
) -> None:
    """Run the local proxy, on the device behind the slow link."""
    from local_proxy.main import run

    flags = {
        "listen": listen,
        "remote": remote,
        "pair": _pairing(pair),
        "security": security,
        "state": state,
        "transport": transport,
        "policy": policy or None,
        "export": export,
        "patience": patience,
    }
    settings = _settings(config, {"local": flags})
    _run(run(settings.local), verbose=verbose, log_urls=log_urls)


@app.command()
def pair(
    name: Annotated[str, typer.Argument(help="What to call the device. Default: device.")] = "",
    address: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="HOST:PORT as the device reaches this remote. Default: guessed."),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Show the paired devices.")] = False,
    revoke: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Let a device in no more, from this second on."),
    ] = None,
    state: State = None,
    config: ConfigFile = None,
) -> None:
    """On the remote's machine: make a device and print the string that pairs it."""
    from pairing import command
    from pairing.errors import PairingError

    settings = _settings(config, {"remote": {"address": address, "state": state}}).remote
    try:
        if revoke is not None:
            command.revoke(settings, revoke, notice=_notice)
        elif show:
            command.list_devices(settings, out=typer.echo, notice=_notice)
        else:
            command.pair(settings, name, out=typer.echo, notice=_notice)
    except PairingError as error:
        _notice(str(error))
        raise typer.Exit(2) from error


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
    from local_proxy.status.client import show

    settings = _settings(config, {"local": {"listen": proxy}})
    host, port = split_address(settings.local.listen)
    raise typer.Exit(asyncio.run(show(host, port, as_json=json)))


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
    settings = _settings(config, {"local": flags})

    @asynccontextmanager
    async def stand_in() -> AsyncIterator[LocalSettings]:
        from remote_proxy.main import serving

        here = RemoteSettings(listen="127.0.0.1:0", security="none")
        async with serving(here) as address:
            yield msgspec.structs.replace(settings.local, remote=address, security="none")

    browsing = run(url, browser, settings.local, stand_in, headless=headless)
    _run(browsing, verbose=verbose, log_urls=log_urls, ends=(signal.SIGHUP,))


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
    from local_proxy.packages.command import run

    settings = _settings(config, {"local": {"listen": proxy}})
    host, port = split_address(settings.local.listen)
    open_with = None if plain else _office_suite()
    opening = run(host, port, url, into=output, out=typer.echo, open_with=open_with)
    raise typer.Exit(asyncio.run(opening))


def _office_suite() -> OpenWith | None:
    """What shows documents while they come; None: nothing on this machine."""
    from local_proxy.export_drivers.libreoffice.command import suite

    return suite(_notice)


@app.command()
def trust(
    remove: Annotated[bool, typer.Option("--remove", help="Undo it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Make this user's browsers and the system trust the device's own certificate authority."""
    from browsers.trust import run

    settings = _settings(config, {})
    raise typer.Exit(run(Path(settings.local.state), remove=remove, dry_run=dry_run))


def _pairing(given: str | None) -> str | None:
    return sys.stdin.readline().strip() if given == "-" else given


def _notice(text: str) -> None:
    typer.echo(f"sluice: {text}", err=True)


def _settings(path: Path | None, flags: dict[str, dict[str, Any]]) -> Settings:
    try:
        return load(path=path, flags=flags)
    except SettingsError as error:
        typer.echo(f"sluice: {error}", err=True)
        raise typer.Exit(2) from error


def _run(
    main: Coroutine[Any, Any, None],
    *,
    verbose: bool,
    log_urls: bool,
    ends: tuple[signal.Signals, ...] = (),
) -> None:
    """Run a proxy until it's interrupted or terminated, or gets one of the signals `ends`."""
    from pairing.errors import PairingError

    _configure_logging(verbose=verbose, log_urls=log_urls)

    async def until_signalled() -> None:
        task = asyncio.ensure_future(main)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, *ends):
            loop.add_signal_handler(number, task.cancel)
        await task

    try:
        asyncio.run(until_signalled())
    except asyncio.CancelledError:
        pass
    except OSError as error:
        typer.echo(f"sluice: {error.strerror or error}", err=True)
        raise typer.Exit(1) from error
    except PairingError as error:
        _notice(str(error))
        raise typer.Exit(2) from error


def _configure_logging(*, verbose: bool, log_urls: bool) -> None:
    """Structured lines on standard error."""
    level = logging.INFO if verbose else logging.WARNING
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,  # before: what was raised may name a URL
            *(() if log_urls else (hide_queries,)),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def main() -> None:
    """Entry point of the `sluice` command."""
    app()


if __name__ == "__main__":
    main()
