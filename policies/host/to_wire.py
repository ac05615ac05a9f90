"""Turns commands into control messages of the wire, one each."""

from __future__ import annotations

from policies.api import commands
from policies.api.plan import to_wire
from wire import messages


def message_for(command: commands.Command) -> messages.Message | None:
    """The message that carries the command; None for one that stays on the device."""
    match command:
        case commands.SetScheduler(path, name, params):
            return messages.SetScheduler(list(path), name, dict(params))
        case commands.SetWeight(path, weight):
            return messages.SetWeight(list(path), weight)
        case commands.SetQuantum(path, quantum):
            return messages.SetQuantum(list(path), quantum)
        case commands.SetPlan(rules):
            return messages.SetPlan(to_wire(rules))
        case commands.Fetch(component, level, priority, timer):
            return messages.Fetch(component, level, priority, timer or 0.0)
        case commands.Cancel(component):
            return messages.Cancel(component)
        case commands.Defer(component):
            return messages.Hold(component, on=True)
        case commands.Resume(component):
            return messages.Hold(component, on=False)
        case commands.Raise(component, urgency):
            return messages.Raise(component, urgency)
        case commands.WatchBandwidth() | commands.SetTimer():
            return None
