"""The settings of a command, and in a line each what people should know of where they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import typer

from cli.command import REFUSED, notice
from configuration import (
    FILE,
    Settings,
    load,
    strays,
    user_file,
)
from setting_values import Address, SettingsError, split_address

Flags = Mapping[str, Mapping[str, Any]]


def settings(path: Path | None, flags: Flags, *, serves: bool = False) -> Settings:
    """The settings in force; ends the program with a sentence where they make no sense.

    `path`: what --config says. `serves`: the command goes on, so it names the file that it obeys.
    """
    try:
        found = load(path=path, flags=flags)
    except SettingsError as error:
        notice(str(error))
        raise typer.Exit(REFUSED) from error
    for stray in strays(os.environ):
        notice(f"{stray} is not a setting, nobody reads it")
    usual = user_file(os.environ)
    if path is None and Path(FILE).is_file() and not _same(Path(FILE), usual):
        notice(f"./{FILE} is not read, only {usual} is; to have it read: --config ./{FILE}")
    used = path or (usual if usual.exists() else None)
    if serves and used is not None and not _same(used, Path(os.devnull)):
        notice(f"settings from {used.expanduser().absolute()}")
    return found


def address(flag: str, given: str) -> tuple[str, int]:
    """Host and port of a flag's HOST:PORT; ends the program with a sentence where it is none."""
    try:
        return split_address(msgspec.convert(given, Address))
    except msgspec.ValidationError as error:
        notice(f"{flag}: {given!r:.200} is not HOST:PORT or [IPv6]:PORT, such as 127.0.0.1:8120")
        raise typer.Exit(REFUSED) from error
    except SettingsError as error:
        notice(f"{flag}: {error}")
        raise typer.Exit(REFUSED) from error


def _same(one: Path, other: Path) -> bool:
    try:
        return one.expanduser().samefile(other)
    except OSError:
        return False
