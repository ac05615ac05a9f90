"""Runs a command until it ends or is told to, and turns what it raises into a sentence and a code.

A fault that people can mend by other settings ends with REFUSED, one of the machine with FAILED.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine
from enum import StrEnum
from typing import Any, Final

import structlog
import typer
from structlog.typing import Processor

from cli.memory import bound_arenas, freeze_modules
from redaction import hide_queries
from service.notify import watched


class LogForm(StrEnum):
    """How lines of the log are written."""

    HUMAN = "human"
    JSON = "json"


FAILED: Final = 1
"""Exit code: it could be started, but the machine did not play its part."""
REFUSED: Final = 2
"""Exit code: it can't be started as it is configured."""


def notice(text: str) -> None:
    """Say something for people."""
    typer.echo(f"sluice: {text}", err=True)


def run(
    main: Coroutine[Any, Any, None],
    *,
    verbose: bool,
    log_urls: bool,
    log: LogForm = LogForm.HUMAN,
    ends: tuple[signal.Signals, ...] = (),
) -> None:
    """Run a proxy until it's interrupted or terminated, or gets one of the signals `ends`."""
    from local_proxy.front.clients import ClientsError
    from local_proxy.status.pac import PrivateError
    from pairing.errors import PairingError
    from policies.host.loader import LoadError
    from remote_proxy.processes.group import NotStarted

    configure_logging(verbose=verbose, log_urls=log_urls, log=log)
    bound_arenas()
    freeze_modules()

    async def until_signalled() -> None:
        task = asyncio.ensure_future(main)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, *ends):
            loop.add_signal_handler(number, task.cancel)
        async with watched():
            await task

    try:
        asyncio.run(until_signalled())
    except asyncio.CancelledError:
        pass
    except OSError as error:
        notice(error.strerror or str(error))
        raise typer.Exit(FAILED) from error
    except NotStarted as error:
        notice(str(error))
        raise typer.Exit(error.code) from error
    except (PairingError, LoadError, ClientsError, PrivateError) as error:
        notice(str(error))
        raise typer.Exit(REFUSED) from error


def configure_logging(*, verbose: bool, log_urls: bool, log: LogForm = LogForm.HUMAN) -> None:
    """Structured lines on standard error, for people or one JSON object each."""
    level = logging.INFO if verbose else logging.WARNING
    last: Processor = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    if log is LogForm.JSON:
        last = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,  # before: what was raised may name a URL
            *(() if log_urls else (hide_queries,)),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
