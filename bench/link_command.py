"""`python -m bench link --profile P -- COMMAND`: runs a command behind an emulated link.

All that it sends crosses the link; this machine is at $LINK_FAR for it. Links nest: the command may
be another `python -m bench link`. As root, where there are TUN devices.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from emulation.lines.profiles import profile
from emulation.worlds.behind import ALL, Behind, behind
from emulation.worlds.netns import NoNamespaces
from emulation.worlds.tun_relay import WayStatistics

FAR = "LINK_FAR"
"""The variable by which a command finds this machine, which is before all links."""
_BLOCK = "LINK_BLOCK"
"""That by which a link finds its place behind another."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench link",
        description="Run a command behind an emulated link, as root. This machine's servers are at "
        f"${FAR} for it, if they listen there or at 0.0.0.0. What is beyond this machine it "
        "reaches only where this machine passes it on (net.ipv4.ip_forward, and a rule that "
        "masquerades).",
        epilog="python -m bench link --profile 384k -- sh -c 'curl http://$LINK_FAR:8000/'",
    )
    parser.add_argument(
        "--profile", default="384k", help="see `bench list`; trace:PATH, or FILE.toml:NAME"
    )
    parser.add_argument("--seed", type=int, default=1, help="of losses and jitter")
    parser.add_argument("--quiet", action="store_true", help="say nothing of what crossed")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="behind --")
    return parser


def main(words: Sequence[str]) -> int:
    """The command's exit code; 128 and the signal's number where one ended it, as in shells.

    Raises ValueError for a profile that there is not, OSError where no link can be made.
    """
    arguments = _parser().parse_args(words)
    link = profile(arguments.profile)
    try:
        with behind(link, within=os.environ.get(_BLOCK, ALL), seed=arguments.seed) as here:
            code = _run(here, arguments.command)
            if not arguments.quiet:
                print(f"link {link.name}: {_said(here)}", file=sys.stderr)
    except NoNamespaces as error:
        raise OSError(str(error)) from error
    return code


def _run(here: Behind, command: Sequence[str]) -> int:
    """Interrupts are the command's: it may go on, and the link is there while it does."""
    environment = {FAR: here.far, **os.environ, _BLOCK: here.block}  # behind two: the first's
    with subprocess.Popen(here.host.command(*command), env=environment) as process:
        before = [(one, signal.signal(one, signal.SIG_IGN)) for one in _ITS_OWN]
        try:
            code = process.wait()
        finally:
            for one, handler in before:
                signal.signal(one, handler)
    return code if code >= 0 else 128 - code


_ITS_OWN = (signal.SIGINT, signal.SIGQUIT)


def _said(here: Behind) -> str:
    answer = here.statistics()
    late = answer.lateness[1]
    ways = (f"{_way(way)} {name}" for name, (way,) in (("up", answer.up), ("down", answer.down)))
    return f"{', '.join(ways)}; 99 % of packets at most {late * 1000:.1f} ms late"


def _way(way: WayStatistics) -> str:
    lost = way.dropped_packets + way.lost_packets
    return f"{way.carried:,} bytes" + (f" ({lost} packets lost)" if lost else "")
