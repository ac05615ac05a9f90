"""Finds a policy by what a person calls it.

As any plug-in is found (plugins/finding.py), its entry points in the group `sluice.policies`. What
is found may be a policy or something to call that makes one; parameters go to the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from plugins.finding import LoadError, PluginSort, find, installed, make
from policies.api import Policy
from policies.builtin.attention import Attention
from policies.builtin.callback_priorities import CallbackPriorities
from policies.builtin.decks import DeckCurrentSlide, DeckInOrder, DeckInView, DeckText
from policies.builtin.default import Default
from policies.builtin.equal import Equal
from policies.builtin.focus import Focus
from policies.builtin.low_fidelity_first import LowFidelityFirst
from policies.builtin.media import SteadyMedia
from policies.builtin.modal import Modal
from policies.builtin.original import Original
from policies.builtin.polite import Polite
from policies.builtin.save_data import SaveData
from policies.builtin.text_first import TextFirst
from policies.builtin.within import Within

__all__ = ["BUILT_IN", "GROUP", "LoadError", "load", "load_all", "names"]

GROUP: Final = "sluice.policies"
BUILT_IN: Final = (
    Default,
    Original,
    Equal,
    TextFirst,
    LowFidelityFirst,
    Focus,
    Attention,
    SaveData,
    SteadyMedia,
    Modal,
    CallbackPriorities,
    Within,
    Polite,
    DeckText,
    DeckInOrder,
    DeckInView,
    DeckCurrentSlide,
)


SORT: Final = PluginSort("policy", GROUP, "react", "policies")


def names() -> tuple[str, ...]:
    """What `load` finds by name: the built-in ones, then those of installed packages."""
    return installed(SORT, tuple(policy.name for policy in BUILT_IN))


def load(what: str, params: Mapping[str, Any] | None = None) -> Policy:
    """The policy called `what`. Raises LoadError."""
    found, where = find(what, SORT, {policy.name: policy for policy in BUILT_IN})
    return _made(found, where, params or {})


def load_all(
    specs: Iterable[str], params: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Policy]:
    """Several, in order: a later one may override an earlier one. `params` are keyed by spec."""
    given = params or {}
    specs = list(specs)
    stray = sorted(given.keys() - set(specs))
    if stray:
        raise LoadError(f"parameters for {stray[0]!r}, which is not among the policies: {specs}")
    return [load(spec, given.get(spec)) for spec in specs]


def _made(found: object, where: str, params: Mapping[str, Any]) -> Policy:
    made = make(found, where, params, SORT)
    if not isinstance(made, Policy) or not callable(made.react):
        raise LoadError(f"{where}: {made!r:.100} is no policy: it needs `name` and `react`")
    return made
