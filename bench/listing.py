"""Lists the scenarios for people: what each shows and how long it takes. Knows only the table."""

from __future__ import annotations

from bench.registry import SCENARIOS


def duration(seconds: float) -> str:
    """For people: "40 s", "5 min", "1 h 10 min"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def listing() -> str:
    """Every scenario with what it shows and how long it takes."""
    lines = []
    for entry in SCENARIOS:
        quick, takes = duration(entry.quick_takes), duration(entry.takes)
        options = " ".join(f"--{name} {value}" for name, value in entry.full.items())
        if options:
            takes = f"{quick}, {takes} with {options}"
        elif entry.quick:
            takes = f"{takes}, quick {quick}"
        where = "; virtual time, the same on every machine" if entry.virtual else ""
        lines += [f"  {entry.name:<24}{entry.shows}", f"{'':<26}{takes}{where}"]
    full = duration(sum(one.takes for one in SCENARIOS))
    quick = duration(sum(one.quick_takes for one in SCENARIOS if not one.slow))
    slow = ", ".join(one.name for one in SCENARIOS if one.slow)
    last = f"  {'all':<24}every one of them: {full}, quick {quick} without {slow}"
    return "\n".join([*lines, last])
