"""The command line of the benches: `python -m bench list`, `python -m bench SCENARIO`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from bench.cdp import BrowserError
from bench.profiles import profiles
from bench.report import Check, report, write


@dataclass(frozen=True, slots=True)
class Scenario:
    """One entry of the list."""

    name: str
    shows: str
    takes: str
    module: str
    """Imported only when it runs; its `run` takes those of OPTIONS that it names."""


SCENARIOS: Final = (
    Scenario(
        "page-load",
        "when text and pictures of a page are there, directly and through Sluice",
        "40 s a run at 384k, 3 min at 56k",
        "bench.scenarios.page_load",
    ),
    Scenario(
        "two-documents",
        "how soon a page opened over a loading one gets its text; then the first comes back",
        "1 min at 384k",
        "bench.scenarios.two_documents",
    ),
    Scenario(
        "identical",
        "that every page ends up as it does without a proxy, pixels and console",
        "15 s a page; --browser, --https, --http1 say in which way",
        "bench.scenarios.identical",
    ),
    Scenario(
        "reallocation",
        "how soon the share of a document that comes to the front stands, over real TCP",
        "6 min",
        "bench.scenarios.reallocation",
    ),
    Scenario(
        "priority",
        "how late a quantum of high priority is behind a backlog, in virtual time",
        "40 s",
        "bench.scenarios.priority",
    ),
    Scenario(
        "websocket",
        "how much later a WebSocket's echo is beside a transfer that fills the link, over real TCP",
        "4 min",
        "bench.scenarios.websocket",
    ),
    Scenario(
        "utilisation",
        "how much of the link two loading pages use, what frames cost, idle gaps; over real TCP",
        "4 min",
        "bench.scenarios.utilisation",
    ),
    Scenario(
        "hats-text-first",
        "text of all documents before pictures of any, in virtual time (HATS, figure 5)",
        "10 s",
        "bench.scenarios.hats_text_first",
    ),
    Scenario(
        "hats-low-fidelity-first",
        "all pictures of all pages coarse before any is fine, in virtual time (HATS, figure 6)",
        "10 s",
        "bench.scenarios.hats_low_fidelity_first",
    ),
    Scenario(
        "hats-focus",
        "four fifths of the link for the page in front, in virtual time (HATS, figure 7)",
        "15 s",
        "bench.scenarios.hats_focus",
    ),
    Scenario(
        "hats-overhead",
        "what the proxies cost a page without adaptation, over real TCP (HATS, figure 8)",
        "25 min, 3 min with --profile 384k",
        "bench.scenarios.hats_overhead",
    ),
    Scenario(
        "data-overhead",
        "bytes beside the payload: frames, skeleton, heads, reports, TLS (HATS, 4.2)",
        "20 s",
        "bench.scenarios.data_overhead",
    ),
    Scenario(
        "scheduler",
        "what the transmission order does to usefulness over time, in virtual time",
        "seconds",
        "bench.scenarios.scheduler",
    ),
    Scenario(
        "gate",
        "how late an urgent byte is behind a bulk transfer, in virtual time",
        "seconds",
        "bench.scenarios.gate",
    ),
    Scenario(
        "transcode",
        "what pictures cost at each level, in bytes and processor time",
        "under a minute",
        "bench.scenarios.transcode",
    ),
    Scenario(
        "faults",
        "that cuts, silences, restarts and new addresses cost pages and downloads a pause, no more",
        "11 min; --runs sets the number of faults",
        "bench.scenarios.faults",
    ),
    Scenario(
        "random-bytes",
        "that noise at every port costs nothing but logged errors: memory, a page after it",
        "70 s",
        "bench.scenarios.random_bytes",
    ),
    Scenario(
        "bulk",
        "that neither proxy holds a gigabyte whose reader rests",
        "5 min, half a minute with --size 50000000",
        "bench.scenarios.bulk",
    ),
    Scenario(
        "beside",
        "that a page in Chromium is no later beside a download or an upload",
        "9 min",
        "bench.scenarios.beside",
    ),
    Scenario(
        "polar",
        "that a page comes whole, once, over a link of 1 s round trips with loss and outages",
        "10 min, 2 min with --page demo/site/article",
        "bench.scenarios.polar",
    ),
)


def _listing() -> str:
    rows = [f"  {entry.name:<24}{entry.shows}\n{'':<26}takes {entry.takes}" for entry in SCENARIOS]
    links = [f"  {link.name:<24}{link.about}" for link in profiles().values()]
    return "\n".join(["Scenarios", *rows, "", "Links (--profile)", *links])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure.")
    parser.add_argument("scenario", help="a name from `list`, or `list`")
    parser.add_argument("--profile", help="emulated link; see `list`")
    parser.add_argument("--seed", type=int, help="of what is random in a scenario")
    parser.add_argument("--runs", type=int, help="repetitions; figures are medians")
    parser.add_argument("--peers", help="separated by commas: direct,sluice")
    parser.add_argument("--page", type=Path, metavar="DIR", help="a folder with an index.html")
    parser.add_argument("--size", type=int, help="bytes of a large transfer")
    parser.add_argument("--scale", type=float, help="part of the full sizes, for a quick look")
    parser.add_argument("--browser", choices=("chromium", "firefox"), help="in which pages open")
    parser.add_argument("--https", action="store_true", default=None, help="pages come over https")
    parser.add_argument("--http1", action="store_true", default=None, help="browser without HTTP/2")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a figure, PNG")
    parser.add_argument("--report", type=Path, metavar="DIR", help="films and curves as HTML")
    return parser


def _offered(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the command line says, under the names that scenarios may ask for."""
    names = arguments.peers.split(",") if arguments.peers else None
    return {
        "profile_name": arguments.profile,
        "profile": arguments.profile,
        "seed": arguments.seed,
        "runs": arguments.runs,
        "peer_names": names,
        "peers": names,
        "page": arguments.page,
        "size": arguments.size,
        "scale": arguments.scale,
        "plot": arguments.plot,
        "browser": arguments.browser,
        "https": arguments.https,
        "http1": arguments.http1,
    }


def _call(scenario: Scenario, offered: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run it. Raises ValueError when an option was given that it does not know."""
    try:
        run = importlib.import_module(scenario.module).run
    except ModuleNotFoundError as error:
        raise ValueError(f"{scenario.name}: {error.name} is not installed") from error
    known = inspect.signature(run).parameters
    given = {name: value for name, value in offered.items() if value is not None and name in known}
    result = run(**given)
    outcome: Mapping[str, Any] = asyncio.run(result) if inspect.iscoroutine(result) else result
    return outcome


def _checks(outcome: Mapping[str, Any]) -> dict[str, Check]:
    return {
        name: check if isinstance(check, Check) else Check(**_fields(check))
        for name, check in outcome.get("checks", {}).items()
    }


def _fields(check: Any) -> dict[str, Any]:
    fields = asdict(check) if is_dataclass(check) and not isinstance(check, type) else dict(check)
    return {name: fields.get(name, "") for name in ("value", "unit", "goal", "ok")}


def _show(checks: Mapping[str, Check]) -> str:
    return "\n".join(
        f"  {'ok   ' if check.ok else 'SHORT'} {name}: {check.value} {check.unit}"
        f" (goal: {check.goal})"
        for name, check in checks.items()
    )


def main(words: list[str] | None = None) -> int:
    """Exit code: 0, 1 when a check falls short, 2 when it could not run."""
    arguments = _parser().parse_args(words)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    if arguments.scenario == "list":
        print(_listing())
        return 0
    scenario = next((entry for entry in SCENARIOS if entry.name == arguments.scenario), None)
    try:
        if scenario is None:
            names = ", ".join(entry.name for entry in SCENARIOS)
            raise ValueError(f"no scenario {arguments.scenario!r}; there are {names}")
        outcome = _call(scenario, _offered(arguments))
        checks = _checks(outcome)
        data = report(
            scenario=scenario.name,
            profile=arguments.profile or "",
            runs=outcome.get("runs", ()),
            checks=checks,
            seed=arguments.seed or 0,
            notes=outcome.get("notes", ()),
        )
        print("\n" + _show(checks))
        if arguments.json:
            arguments.json.write_text(json.dumps(data, indent=2) + "\n")
        if arguments.report:
            print(f"\nFilms and curves: {write(arguments.report, data, outcome.get('loads', ()))}")
    except (OSError, ValueError, BrowserError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0 if all(check.ok for check in checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
