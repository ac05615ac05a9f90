"""The plan of one device, as the remote proxy obeys it: what is pushed, how far, adapted how."""

from __future__ import annotations

from typing import Any

from policies.api.plan import Decision, Rule, Subject, decide, from_wire
from transcoders.picture import PictureOptions
from wire.skeleton import LEVELS, Kind, Use


class Plan:
    """Standing rules of the policies (wire.messages.SetPlan)."""

    def __init__(self) -> None:
        self.rules: tuple[Rule, ...] = ()
        """What holds now."""

    def replace(self, rules: list[dict[str, Any]]) -> None:
        """Other rules from now on. Raises PlanError and keeps the old ones."""
        self.rules = from_wire(rules)

    def decide(
        self, component: int, document: int, kind: Kind, use: Use, length: int | None = None
    ) -> Decision:
        """What holds for one component."""
        return self.decide_on(
            Subject(component=component, document=document, kind=kind, use=use, length=length)
        )

    def decide_on(self, subject: Subject) -> Decision:
        """The same, for what was asked before."""
        return decide(self.rules, subject)


def picture_options(
    decision: Decision,
    *,
    width: int,
    height: int,
    accept: str,
    arithmetic: bool = False,
    sketch: bool = False,
    large: bool = False,
    webp: bool = False,
    recipes: bool = False,
    scans: bool = False,
    kept: bool = False,
    quick: bool = False,
) -> PictureOptions:
    """What a decision asks of the transcoder, for a browser with this `Accept`.

    `arithmetic`, `sketch`: the device undoes that coding, enlarges sketches, for this picture;
    `large`: a camera's too.
    `webp`: the browser is shown whole files, so a PNG may be one of another type that it takes.
    `recipes`, `scans`: the device makes the origin's bytes of another form; `kept`: browsers may
    keep them. `quick`: its sketch is to be made soon.
    """
    stop = decision.level if decision.level in LEVELS else "original"
    return PictureOptions(
        stop=stop,
        quality=decision.quality,
        similar=decision.similar,
        layout=(width, height) if decision.fit_layout and width and height else None,
        avif="image/avif" in accept,
        arithmetic=arithmetic,
        sketch=sketch,
        large=sketch and large,
        webp=webp and "image/webp" in accept,
        recipes=recipes,
        scans=scans,
        kept=kept,
        quick=quick,
        between=decision.within is not None,
    )
