"""The command line of the benches. What there is to run: bench/registry.py.

python -m bench list
python -m bench SCENARIO [--quick] [--profile P] [--json FILE] [--report DIR] ...
python -m bench all [--quick | --virtual] [--report DIR]
python -m bench compare A.json B.json
python -m bench figures [REPORT.json ...]
python -m bench link [--profile P] -- COMMAND
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog

from bench import all_scenarios, link_command
from bench.browsers.cdp import BrowserError
from bench.listing import listing
from bench.registry import scenario
from bench.reports import compare, figures
from bench.reports.report import write
from bench.runner import run
from emulation.lines.profiles import profiles


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure.")
    parser.add_argument("scenario", help="a name from `list`; or list, all, compare, figures, link")
    parser.add_argument("files", nargs="*", type=Path, help="of `compare`, `figures`: reports")
    parser.add_argument("--quick", action="store_true", help="less of it; see `list`")
    parser.add_argument("--virtual", action="store_true", help="of `all`: those in virtual time")
    parser.add_argument("--profile", help="emulated link; see `list`, or trace:PATH")
    parser.add_argument("--backend", help="what emulates it: auto, tun, relay, netem, memory")
    parser.add_argument("--seed", type=int, help="of what is random in a scenario")
    parser.add_argument("--runs", type=int, help="repetitions; figures are medians")
    parser.add_argument("--peers", type=_words, help="separated by commas: direct,sluice; or all")
    parser.add_argument("--policy", type=_words, help="separated by commas: default,text-first")
    parser.add_argument(
        "--page",
        type=Path,
        metavar="DIR",
        help="a folder with an index.html; of office: a document",
    )
    parser.add_argument("--urls", type=Path, metavar="FILE", help="pages to visit, one URL a line")
    parser.add_argument("--size", type=int, help="bytes of a large transfer")
    parser.add_argument("--scale", type=float, help="part of the full sizes, for a quick look")
    parser.add_argument("--quantum", type=int, help="bytes, by hand; else fitted to the link")
    parser.add_argument("--browser", choices=("chromium", "firefox"), help="in which pages open")
    parser.add_argument("--parts", type=_words, help="separated by commas; which there are it says")
    parser.add_argument("--from", dest="release", metavar="REF", help="of fresh-machine: a commit")
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="what is slow to make stays there"
    )
    parser.add_argument("--https", action="store_true", default=None, help="pages come over https")
    parser.add_argument("--http1", action="store_true", default=None, help="browser without HTTP/2")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--har", type=Path, metavar="FILE", help="write the requests there, HAR")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a figure, PNG")
    parser.add_argument("--report", type=Path, metavar="DIR", help="figures, films, charts as HTML")
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _offered(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the command line says, under the names that scenarios may ask for."""
    return {
        "profile_name": arguments.profile,
        "profile": arguments.profile,
        "backend": arguments.backend,
        "seed": arguments.seed,
        "runs": arguments.runs,
        "peer_names": arguments.peers,
        "peers": arguments.peers,
        "policies": arguments.policy,
        "page": arguments.page,
        "urls": arguments.urls,
        "size": arguments.size,
        "har": arguments.har,
        "scale": arguments.scale,
        "quantum": arguments.quantum,
        "plot": arguments.plot,
        "browser": arguments.browser,
        "parts": arguments.parts,
        "release": arguments.release,
        "cache": arguments.cache,
        "https": arguments.https,
        "http1": arguments.http1,
    }


def _list() -> int:
    links = [f"  {link.name:<24}{link.about}" for link in profiles().values()]
    print("\n".join(["Scenarios", listing(), "", "Links (--profile)", *links]))
    return 0


def _compare(files: list[Path]) -> int:
    if len(files) != 2:
        raise ValueError("compare takes two reports: python -m bench compare A.json B.json")
    before, after = (compare.read(file) for file in files)
    verdicts = compare.compare(before, after)
    print(compare.show(verdicts))
    return 1 if any(one.verdict is compare.Judgement.WORSE for one in verdicts) else 0


def _run(arguments: argparse.Namespace) -> int:
    entry = scenario(arguments.scenario)
    outcome = run(entry, _offered(arguments), quick=arguments.quick)
    print("\n" + _show(outcome.data["checks"]))
    if arguments.json:
        arguments.json.write_text(json.dumps(outcome.data, indent=2) + "\n")
    if arguments.report:
        print(f"\nReport: {write(arguments.report, outcome.data, outcome.exhibits)}")
    return 0 if outcome.ok else 1


def _show(checks: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n".join(
        f"  {'ok   ' if check['ok'] else 'SHORT'} {name}: {check['value']} {check['unit']}"
        f" (goal: {check['goal']})"
        for name, check in checks.items()
    )


def main(words: list[str] | None = None) -> int:
    """Exit code: 0, 1 when a check falls short or a figure got worse, 2 when it could not run."""
    words = sys.argv[1:] if words is None else words
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        if words[:1] == ["link"]:
            return link_command.main(words[1:])
        arguments = _parser().parse_args(words)
        match arguments.scenario:
            case "list":
                return _list()
            case "compare":
                return _compare(arguments.files)
            case "figures":
                print(figures.update(arguments.files))
                return 0
            case "all":
                folder = arguments.report or Path("bench-report")
                return all_scenarios.run(folder, quick=arguments.quick, virtual=arguments.virtual)
        if arguments.files:
            raise ValueError(f"{arguments.files[0]}: only `compare` and `figures` take files")
        return _run(arguments)
    except (OSError, ValueError, BrowserError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
