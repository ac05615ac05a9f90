"""All schedulers of one remote proxy: the built-in ones of the registry, and plug-ins beside them.

Policies call a plug-in's `plugin:NAME`, so that a device, which can't know what its remote has,
needs to check the others alone. Each is made anew for its node, and contained (contained.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hats.disciplines import registry
from hats.disciplines.contained import ContainedScheduler
from hats.disciplines.registry import INITIAL, Parameters
from hats.tree.errors import SchedulerError
from hats.tree.scheduler import Scheduler
from plugins.switch import PluginSwitch

PREFIX: Final = "plugin:"


def is_plugin(name: str) -> bool:
    """Whether policies call one of a plug-in so."""
    return name.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class PluggedScheduler:
    """Makes schedulers of one plug-in."""

    make: Callable[..., object]
    """Given the parameters of the command."""
    switch: PluginSwitch


class Catalogue:
    """Makes schedulers by name."""

    def __init__(self, plugged: Mapping[str, PluggedScheduler] | None = None) -> None:
        """`plugged`: by their names, without the prefix."""
        self._plugged = {f"{PREFIX}{name}": one for name, one in (plugged or {}).items()}

    def names(self) -> tuple[str, ...]:
        """What `create` knows."""
        return (*registry.names(), *self._plugged)

    def create(self, name: str, params: Parameters | None = None) -> Scheduler:
        """A new scheduler; the initial one for a plug-in that was switched off. Raises
        SchedulerError that names what was wrong."""
        if not is_plugin(name):
            return registry.create(name, params)
        plugged = self._plugged.get(name)
        if plugged is None:
            raise SchedulerError(f"no scheduler {name!r} here; there are {', '.join(self.names())}")
        if not plugged.switch.on:
            return registry.create(INITIAL)
        try:
            made = plugged.make(**(params or {}))
        except Exception as error:  # parameters that it does not take, most likely
            raise SchedulerError(f"{name}: {type(error).__name__}: {error}") from error
        if not isinstance(made, Scheduler):
            raise SchedulerError(f"{name}: {made!r:.100} is no scheduler")
        return ContainedScheduler(made, name, plugged.switch)


BUILT_IN: Final = Catalogue()
"""Without any plug-in."""
