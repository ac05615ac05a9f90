"""Plans: standing rules that both proxies read, so the remote can start before a round trip.

A plan is a list of rules. Every rule that matches a component applies, in order; where two speak
of the same thing the later one wins, as in a style sheet. What no rule mentions keeps its default:
sent without being asked, adapted as the transcoders see fit, up to the original.

Pure data; knows nothing of sessions, trees or transcoders. Source: HATS 3.2.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from wire.skeleton import Kind, Use

StopLevel = Literal["none", "low", "medium", "high", "original"]
"""Where to stop sending a component. "none": before its first byte. One without levels is sent
whole unless this is "none"."""
Fetch = Literal["push", "ask", "never"]
"""push: sent as soon as it is found. ask: when the application asks for it. never: not at all; the
local proxy answers for it at once."""

_Bytes = Annotated[int, msgspec.Meta(ge=0)]
_DEFAULTS: dict[str, Any] = {
    "level": "original", "untouched": False, "quality": None, "similar": None, "fit_layout": False,
    "tier": 0, "fetch": "push", "worth": None, "within": None, "steady": False,
}  # fmt: skip


class PlanError(ValueError):
    """A rule that came over the wire isn't one."""


class Rule(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Which components (all conditions given must hold), and what becomes of them."""

    kind: Kind | None = None
    use: Use | None = None
    document: Literal["front", "back"] | int | None = None
    """The document in front, all but it, or the one with this id."""
    not_document: int | None = None
    """Any document but this: what "back" becomes on the wire, which does not know of focus."""
    components: tuple[int, ...] | None = None
    at_least: _Bytes | None = None
    """Bytes of the component as the origin has it; never matches while that is unknown."""
    at_most: _Bytes | None = None

    level: StopLevel | None = None
    untouched: bool | None = None
    """The origin's bytes as they are: no levels, no re-encoding."""
    quality: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """JPEG or WebP quality where pictures are re-encoded; None: the transcoder's choice."""
    similar: Annotated[float, msgspec.Meta(ge=0.5, le=0.999)] | None = None
    """Pictures may be re-encoded to this SSIM, whatever quality that takes of each: they look the
    same, and are final then."""
    fit_layout: bool | None = None
    """Pictures may be reduced to the size that they have in the layout."""
    tier: int | None = None
    """Lower tiers of a document go first, from 0; within one, document order."""
    fetch: Fetch | None = None
    worth: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Seconds that a picture would be waited for, from which on it is adapted; 0: on any link."""
    within: Annotated[float, msgspec.Meta(gt=0, le=3600)] | None = None
    """Seconds from when its document was asked for, in which a picture is to be there: as fine as
    fits with all others of the document. Then it goes on, up to `level`."""

    steady: bool | None = None
    """It is played while it comes, so it has the rate guaranteed at which it is played, where that
    can be read in it and the link carries it."""

    def matches(self, subject: Subject) -> bool:
        """Do all conditions hold for this component?"""
        length = subject.length
        if (self.at_least is not None or self.at_most is not None) and length is None:
            return False
        return (
            self.kind in (None, subject.kind)
            and self.use in (None, subject.use)
            and self._matches_document(subject)
            and (self.components is None or subject.component in self.components)
            and (self.at_least is None or length is None or length >= self.at_least)
            and (self.at_most is None or length is None or length <= self.at_most)
        )

    def _matches_document(self, subject: Subject) -> bool:
        if subject.document == self.not_document:
            return False
        if self.document == "front":
            return subject.front
        if self.document == "back":
            return not subject.front
        return self.document in (None, subject.document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a rule can ask about a component."""

    component: int
    document: int
    kind: Kind
    use: Use
    length: int | None = None
    """Bytes; None: not known."""
    front: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the plan says about one component; the fields are those of Rule."""

    level: StopLevel = "original"
    untouched: bool = False
    quality: int | None = None
    similar: float | None = None
    fit_layout: bool = False
    tier: int = 0
    fetch: Fetch = "push"
    worth: float | None = None
    within: float | None = None
    steady: bool = False

    @property
    def reduces(self) -> bool:
        """Whether less is wanted of a picture than the origin has of it."""
        encoded = self.quality is not None or self.similar is not None
        return self.level != "original" or encoded or self.fit_layout


def decide(rules: Iterable[Rule], subject: Subject) -> Decision:
    """The decision on a component: every rule that matches, later ones over earlier ones."""
    said = dict(_DEFAULTS)
    for rule in rules:
        if rule.matches(subject):
            for name in said:
                value = getattr(rule, name)
                if value is not None:
                    said[name] = value
    return Decision(**said)


def resolve(rules: Iterable[Rule], *, front: int | None) -> tuple[Rule, ...]:
    """The rules with "front" and "back" turned into ids, for the remote proxy."""
    resolved = []
    for rule in rules:
        if rule.document == "front":
            if front is None:
                continue
            resolved.append(msgspec.structs.replace(rule, document=front))
        elif rule.document == "back":
            resolved.append(msgspec.structs.replace(rule, document=None, not_document=front))
        else:
            resolved.append(rule)
    return tuple(resolved)


def described(rule: Rule) -> str:
    """A rule as a line for whoever writes policies: what it is about, and what becomes of that."""
    about: list[str] = []
    becomes: list[str] = []
    for name in rule.__struct_fields__:
        value = getattr(rule, name)
        if value is None:
            continue
        said = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        (becomes if name in _DEFAULTS else about).append(f"{name}={said}")
    return f"{' '.join(about) or 'everything'}: {' '.join(becomes) or 'nothing'}"


def to_wire(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """The rules as wire.messages.SetPlan carries them; what is not said costs nothing."""
    return [msgspec.to_builtins(rule) for rule in rules]


def from_wire(rules: Sequence[dict[str, Any]]) -> tuple[Rule, ...]:
    """The rules of a SetPlan message. Raises PlanError naming the rule and the field."""
    try:
        return tuple(msgspec.convert(list(rules), list[Rule]))
    except msgspec.ValidationError as error:
        raise PlanError(f"plan: {error}") from error
