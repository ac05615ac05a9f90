"""Runs one scenario by its entry and makes its report. Knows no option's meaning."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final

from bench.reports import exhibits, har
from bench.reports.exhibits import Exhibit
from bench.reports.report import Check, report
from bench.scenarios.entry import Scenario

_ROOT: Final = Path(__file__).resolve().parents[1]
"""Of the sources, or of what is installed."""
_NAMES: Final = {
    "profile_name": "profile",
    "peer_names": "peers",
    "policies": "policy",
    "release": "from",
}
"""Names that `run` may have for an option beside its own: what is offered under both is one."""


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """A report and what is drawn of it."""

    data: dict[str, Any]
    exhibits: list[Exhibit]

    @property
    def ok(self) -> bool:
        return all(check["ok"] for check in self.data["checks"].values())


def run(scenario: Scenario, offered: Mapping[str, Any], *, quick: bool = False) -> ScenarioOutcome:
    """Run it with what is offered and not None; what its entry calls quick gives way to that.

    Raises ValueError for an option that it has no use for, and whatever the scenario raises.
    """
    if scenario.needs and not (_ROOT / scenario.needs).is_dir():
        raise ValueError(
            f"{scenario.name} reads {scenario.needs} of Sluice's sources: run it in a checkout"
        )
    try:
        function = importlib.import_module(scenario.module).run
    except ModuleNotFoundError as error:
        raise ValueError(f"{scenario.name}: {error.name} is not installed") from error
    known = inspect.signature(function).parameters
    given = {name: value for name, value in offered.items() if value is not None}
    drawn = _for_us(given, known, "plot")
    requests = _for_us(given, known, "har")
    useless = {_option(name) for name in given} - {_option(name) for name in known}
    if useless:
        raise ValueError(f"{scenario.name} has no use for {', '.join(sorted(useless))}")
    arguments = {**(scenario.quick if quick else {}), **given}
    result = function(**{name: value for name, value in arguments.items() if name in known})
    outcome = asyncio.run(result) if inspect.iscoroutine(result) else result
    loads = outcome.get("loads", ())
    shown = [*outcome.get("exhibits", ()), *exhibits.of_loads(loads)]
    if requests:
        if not loads:
            raise ValueError(f"{scenario.name} loads no page in Chromium: there is no HAR of it")
        requests.write_bytes(har.encode([load.requests for load in loads]))
    if drawn:
        _draw(shown, drawn)
    profile = _profile(arguments, known)
    return ScenarioOutcome(_report(scenario, outcome, arguments, profile=profile), shown)


def _option(name: str) -> str:
    return "--" + _NAMES.get(name, name)


def _profile(arguments: Mapping[str, Any], known: Mapping[str, inspect.Parameter]) -> str:
    """The link that was asked for, or the scenario's own; empty: it has none, or many."""
    for name in ("profile_name", "profile"):
        if name in known:
            value = arguments.get(name, known[name].default)
            return value if isinstance(value, str) else ""
    return ""


def _for_us(given: dict[str, Any], known: Container[str], name: str) -> Path | None:
    """Take a file's option out, unless the scenario writes that file itself."""
    file = None if name in known else given.pop(name, None)
    return file if isinstance(file, Path) else None


def _report(
    scenario: Scenario,
    outcome: Mapping[str, Any],
    arguments: Mapping[str, Any],
    *,
    profile: str,
) -> dict[str, Any]:
    made = report(
        scenario=scenario.name,
        profile=profile,
        runs=outcome.get("runs", ()),
        checks=checks(outcome),
        seed=arguments.get("seed", 0),
        notes=outcome.get("notes", ()),
        virtual=scenario.virtual,
    )
    return {**made, **outcome.get("more", {})}


def checks(outcome: Mapping[str, Any]) -> dict[str, Check]:
    """An outcome's checks, whichever form they have there."""
    return {
        name: check if isinstance(check, Check) else Check(**_fields(check))
        for name, check in outcome.get("checks", {}).items()
    }


def _fields(check: Any) -> dict[str, Any]:
    fields = asdict(check) if is_dataclass(check) and not isinstance(check, type) else dict(check)
    return {name: fields.get(name, "") for name in ("value", "unit", "goal", "ok")}


def _draw(shown: Sequence[Exhibit], file: Path) -> None:
    from bench.reports.figure import draw  # noqa: PLC0415  # matplotlib: only who draws needs it

    draw(shown, file)
