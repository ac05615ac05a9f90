"""CallbackPriorities: all levels at once, by priority, each as far as its timer lets it come.

After "callbacks+priorities" of the ATP paper (section 4.4): no modes; the application sends all
levels concurrently, coarse ones first, and leaves it to timers to say what the link can't do. A
picture that can't be good in time is suspended, by the remote proxy as soon as that is clear, and
stays as it is; one of which nothing is here yet still gets its low level. The pointer on a picture
lets it go on.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    Command,
    Defer,
    DocumentOpened,
    Event,
    Fetch,
    FetchInTime,
    Kind,
    PointerOn,
    Progress,
    Resume,
    SessionView,
    SetScheduler,
    SkeletonGrew,
    TimerExpired,
    Use,
    document_path,
)

_FETCH = "fetch:"


class CallbackPriorities:
    """`level`: what counts as good; `timer`: seconds from when a picture is found."""

    name = "callback_priorities"

    def __init__(self, *, level: str = "medium", timer: float = 8.0) -> None:
        self._level = level
        self._timer = timer
        self._coarse: set[int] = set()
        """Pictures that go on up to their low level, and no further."""

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case DocumentOpened(document, application=application):
                self._coarse &= view.components.keys()
                yield SetScheduler(document_path(application, document), "low_fidelity_first")
            case SkeletonGrew(_, parts):
                for part in parts:
                    if part.kind is Kind.IMAGE and part.use is Use.ELEMENT:
                        yield Fetch(part.component, self._level, timer=self._timer)
            case FetchInTime(component):
                yield Fetch(component)  # the rest, when there is time
            case TimerExpired(name) if name.startswith(_FETCH):
                yield from self._expired(int(name.removeprefix(_FETCH)), view)
            case Progress(component, level=level) if component in self._coarse and level:
                self._coarse.discard(component)
                yield Defer(component)
            case PointerOn(component) if component is not None:
                self._coarse.discard(component)
                yield Resume(component)
                yield Fetch(component, priority=1)

    def _expired(self, component: int, view: SessionView) -> Iterable[Command]:
        picture = view.components.get(component)
        if picture is None or picture.complete:
            return
        if picture.level:
            yield Defer(component)
        else:
            self._coarse.add(component)
            yield Resume(component)
