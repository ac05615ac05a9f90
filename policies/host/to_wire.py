"""Turns commands into control messages of the wire, one each. Pure.

Must not know which remote proxy will read them: whoever sends them says whether it is older.
"""

from __future__ import annotations

from typing import Final

import msgspec

from policies.api import commands
from policies.api.plan import to_wire
from wire import messages
from wire.applications import Application

_ALL: Final = Application.BROWSER.node
"""The application that has all documents, where there is one."""
_DOCUMENTS: Final = {
    Application.BACKGROUND.node: messages.BACKGROUND,
    Application.OTHER.node: messages.UNATTRIBUTED,
}
"""Applications of one document each, which stand for it."""


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
        case commands.Fetch(component, level, priority, timer, protects):
            peers = protects == "peers"
            return messages.Fetch(component, level, priority, timer or 0.0, peers)
        case commands.Cancel(component):
            return messages.Cancel(component)
        case commands.Defer(component):
            return messages.Hold(component, on=True)
        case commands.Resume(component):
            return messages.Hold(component, on=False)
        case commands.Raise(component, urgency):
            return messages.Raise(component, urgency)
        case commands.Reserve(path, rate, delay):
            return messages.Reserve(list(path), rate, delay)
        case commands.GiveWay(path, on):
            return messages.GiveWay(list(path), on)
        case commands.WatchBandwidth() | commands.SetTimer():
            return None


def without(message: messages.Message, word: str) -> messages.Message:
    """The same for a remote proxy that knows no rules with that word (abilities.TIMELY, SIMILAR,
    RESERVES) and would refuse the whole plan: all comes as it does without."""
    if not isinstance(message, messages.SetPlan):
        return message
    return messages.SetPlan(
        [{name: rule[name] for name in rule if name != word} for rule in message.rules]
    )


def for_one_application(message: messages.Message) -> messages.Message | None:
    """The same for a remote proxy whose tree has one application, from before there were more
    (abilities.APPLICATIONS); None: nothing in such a tree is meant by it."""
    if not isinstance(message, messages.SetScheduler | messages.SetWeight | messages.SetQuantum):
        return message
    application, *below = message.path or [_ALL]
    if not below and application in _DOCUMENTS:
        return msgspec.structs.replace(message, path=[_ALL, str(_DOCUMENTS[application])])
    if application != Application.OFFICE.node and application not in _DOCUMENTS:
        return message
    if not below or below[0] == "*":
        return None  # it would hold for pages too
    return msgspec.structs.replace(message, path=[_ALL, *below])
