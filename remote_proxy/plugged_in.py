"""Loads the plug-ins that the settings of a remote proxy name (docs/plugins.md).

At the start, so that one that can't be had is told at once. It knows how plug-ins of each sort are
found and which names are taken; not what they do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog

from hats.disciplines import registry
from hats.disciplines.catalogue import Catalogue, PluggedScheduler
from plugins.finding import LoadError, PluginSort, find, make
from plugins.switch import PluginSwitch
from remote_proxy.promises.plugged_drivers import PageReader
from remote_proxy.promises.reading_time import reading_time
from transcoders.make.plugged import PictureMaker

SCHEDULERS: Final = PluginSort("scheduler", "sluice.schedulers", "select", "schedulers")
TRANSCODERS: Final = PluginSort("transcoder", "sluice.transcoders", "make", "transcoders")
IMPORT_DRIVERS: Final = PluginSort(
    "import driver", "sluice.import_drivers", "find", "import drivers"
)
BUILT_IN: Final[Mapping[str, tuple[str, ...]]] = {
    SCHEDULERS.noun: registry.names(),
    TRANSCODERS.noun: ("jpeg", "png", "gif", "webp", "avif"),
    IMPORT_DRIVERS.noun: ("html", "css"),
}
"""Names of what is there anyhow, by sort: no plug-in may have one of these."""
_log = structlog.get_logger("sluice.remote")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluggedIn:
    """The plug-ins of one remote proxy, each with its switch."""

    schedulers: Catalogue
    transcoders: tuple[tuple[PictureMaker, PluginSwitch], ...]
    import_drivers: tuple[tuple[PageReader, PluginSwitch], ...]


def load_plugins(
    *,
    schedulers: Iterable[str] = (),
    transcoders: Iterable[str] = (),
    import_drivers: Iterable[str] = (),
) -> PluggedIn:
    """All that are named, in order. Raises LoadError."""
    return PluggedIn(
        Catalogue(
            {
                name: PluggedScheduler(factory, switch)
                for name, factory, switch in _each(schedulers, SCHEDULERS, _scheduler)
            }
        ),
        tuple((one, on) for _, one, on in _each(transcoders, TRANSCODERS, _transcoder)),
        tuple((one, on) for _, one, on in _each(import_drivers, IMPORT_DRIVERS, _import_driver)),
    )


def _each(
    specs: Iterable[str], sort: PluginSort, checked: Callable[[object, str], T]
) -> list[tuple[str, T, PluginSwitch]]:
    taken = dict.fromkeys(BUILT_IN[sort.noun], "built in")
    loaded = []
    for spec in specs:
        found, where = find(spec, sort)
        one = checked(found, where)
        name = getattr(one, "name", "")
        if not isinstance(name, str) or not name:
            raise LoadError(f"{where}: it has no `name`")
        if name in taken:
            whose = taken[name]
            raise LoadError(f"{where}: its name {name!r} is taken, that {sort.noun} is {whose}")
        taken[name] = where
        what = f"{sort.noun} {name}"
        loaded.append((name, one, PluginSwitch(what, tell=_tell, clock=reading_time)))
    return loaded


def _scheduler(found: object, where: str) -> Any:
    if not inspect.isclass(found):
        raise LoadError(f"{where}: is no class of schedulers")
    return found


def _transcoder(found: object, where: str) -> PictureMaker:
    made = make(found, where, {}, TRANSCODERS)
    if not isinstance(made, PictureMaker):
        raise LoadError(f"{where}: {made!r:.100} needs `name`, `wants` and `make`")
    return made


def _import_driver(found: object, where: str) -> PageReader:
    made = make(found, where, {}, IMPORT_DRIVERS)
    if not isinstance(made, PageReader):
        raise LoadError(f"{where}: {made!r:.100} needs `name`, `wants` and `find`")
    return made


def _tell(what: str, why: str) -> None:
    _log.warning("a plug-in was switched off", plugin=what, why=why)
