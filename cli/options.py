"""Options that several commands have, worded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from cli.command import LogForm

ConfigFile = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads it at run time
    typer.Option(
        "--config", "-c", help="TOML file. Default: ~/.config/sluice/sluice.toml, if there is one."
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
Log = Annotated[LogForm, typer.Option(help="How the log is written: for people, or as JSON.")]
LogUrls = Annotated[
    bool, typer.Option("--log-urls", help="Log whole URLs: else without queries and passwords.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
