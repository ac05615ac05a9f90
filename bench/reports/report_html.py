"""Reports as one HTML document that needs nothing from outside and no script.

Pure but for reading its own template. Knows a report's JSON form and exhibits, of one scenario or
of many; knows nothing of measuring.
"""

from __future__ import annotations

import html
import statistics
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any, Final
from zlib import crc32

import msgspec

from bench.pages.page_result import marked
from bench.reports import charts, svg_arrows, svg_bars
from bench.reports.exhibits import Arrows, Bands, Bars, Curves, Exhibit, Film

Data = Mapping[str, Any]
Section = tuple[Data, Sequence[Exhibit]]

TIMES: Final = (
    ("text", "text_s", "all of the text is there and styled"),
    ("first paint", "first_paint_s", "anything at all is on the screen"),
    ("painted", "painted_s", "every picture covers at least half of its own pixels"),
    (
        "90 % of pixels",
        "pixels_90_s",
        "nine tenths of what the page paints have their last colour, to 12 of 255",
    ),
    ("good", "good_s", "every picture is hard to tell from its end (SSIM 0.98 at half size)"),
    ("final", "final_s", "every picture shows the pixels of an undisturbed load"),
    ("load", "load_s", "the document's load event"),
    ("Speed Index", "speed_index_s", "what is still missing of the page, added up over time"),
)
"""Heads of a page load's figures, their fields, their meanings."""
HELD: Final = 1.25
"""Times its length that a film takes to begin again: its end stays on the screen meanwhile (in
report.html as the clock's 80 %)."""
PACES: Final = ((1, "as it was"), (4, "4 times as fast"))
_MOST_ROWS: Final = 60
"""Of a table of runs; the JSON has them all."""
_MOST_COLUMNS: Final = 9


def page(sections: Sequence[Section], *, title: str = "", failed: Sequence[str] = ()) -> str:
    """The document. `failed`: what could not run at all, in words."""
    first = sections[0][0] if sections else {}
    many = len(sections) != 1 or bool(failed)
    template = Template(resources.files(__package__).joinpath("report.html").read_text())
    return template.substitute(
        title=html.escape(title or _title(first)),
        subtitle=_subtitle(sections),
        tally=_tally(sections, failed) if many else "",
        sections="".join(_section(data, shown, many=many) for data, shown in sections),
        meanings=_meanings(sections),
        commands="".join(_command(data) for data, _ in sections),
        commit=html.escape(first.get("commit") or "unknown"),
        machine=html.escape(first.get("machine", "")),
    )


def _title(data: Data) -> str:
    return str(data.get("scenario", "Report")).replace("-", " ").capitalize()


def _subtitle(sections: Sequence[Section]) -> str:
    checks = [check for data, _ in sections for check in data["checks"].values()]
    reached = sum(check["ok"] for check in checks)
    links = sorted({data["profile"] for data, _ in sections if data["profile"]})
    words = [f"{reached} of {len(checks)} goals reached"] if checks else []
    doubtful = sum(bool(check["ok"] and check.get("doubtful")) for check in checks)
    words += [f"{doubtful} of these in doubt: the emulated link was late"] if doubtful else []
    words += ["link: " + ", ".join(links)] if links else []
    return html.escape("; ".join(words))


def _tally(sections: Sequence[Section], failed: Sequence[str]) -> str:
    """One tile a scenario, which leads to it."""
    tiles = []
    for data, _ in sections:
        checks = data["checks"].values()
        reached = sum(check["ok"] for check in checks)
        kind = "ok" if reached == len(checks) else "short"
        name = html.escape(data["scenario"])
        tiles.append(
            f'<a class="tile {kind}" href="#{name}"><b>{name}</b>{reached}/{len(checks)}</a>'
        )
    words = "".join(f"<li class=short>{html.escape(text)}</li>" for text in failed)
    return f"<nav class=tiles>{''.join(tiles)}</nav>" + (
        f"<ul class=checks>{words}</ul>" if words else ""
    )


def _section(data: Data, shown: Sequence[Exhibit], *, many: bool) -> str:
    name = html.escape(data["scenario"])
    head = f"<h2 id={name}>{html.escape(_title(data))}</h2>" if many else ""
    about = f"<p class=soft>Link: {html.escape(data['profile'])}</p>" if data["profile"] else ""
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in data["notes"])
    parts = [head, about if many else "", notes, _checks(data["checks"])]
    if _is_page_loads(data["runs"]):
        parts += _pages(data["runs"], shown)
    else:
        parts += [_exhibit(one) for one in shown]
        parts.append(_runs(data["runs"]))
    return f"<section>{''.join(parts)}</section>"


def _checks(checks: Mapping[str, Mapping[str, Any]]) -> str:
    rows = "".join(
        f"<li class={_kind(check)}><span>{html.escape(name)}</span>"
        f"<b>{html.escape(_text(check['value']))} {html.escape(check['unit'])}</b>"
        f"<small>{html.escape(str(check['goal']))}</small></li>"
        for name, check in checks.items()
    )
    return f"<ul class=checks>{rows}</ul>" if rows else ""


def _kind(check: Mapping[str, Any]) -> str:
    if check.get("doubtful"):
        return "doubt"
    return "ok" if check["ok"] else "short"


def _is_page_loads(runs: Sequence[Data]) -> bool:
    return bool(runs) and all({"page", "peer", "painted_s"} <= set(run) for run in runs)


def _pages(runs: Sequence[Data], shown: Sequence[Exhibit]) -> Iterable[str]:
    """Each page with its films and figures; then what belongs to none."""
    pages = list(dict.fromkeys(run["page"] for run in runs))
    left = list(shown)
    for name in pages:
        own = [one for one in left if one.title == name or one.title.endswith(f" of {name}")]
        left = [one for one in left if one not in own]
        yield f"<h3>{html.escape(name)}</h3>"
        yield "".join(_exhibit(one) for one in own)
        of_page = [run for run in runs if run["page"] == name]
        for visit in dict.fromkeys(run.get("visit", "") for run in of_page):
            yield f"<p class=visit>{html.escape(visit)}</p>" if visit else ""
            yield _bars([run for run in of_page if run.get("visit", "") == visit])
    yield "".join(_exhibit(one) for one in left)


def _exhibit(exhibit: Exhibit) -> str:
    match exhibit:
        case Film():
            return _film(exhibit)
        case Curves():
            return charts.curves(exhibit)
        case Bands():
            return charts.bands(exhibit)
        case Bars():
            return svg_bars.bars(exhibit)
        case Arrows():
            return svg_arrows.arrows(exhibit)


def _film(film: Film) -> str:
    return f"{_player(film)}{_strip(film)}"


def _player(film: Film) -> str:
    """All sides in step, as they were: styles alone move it, at each reader's wish."""
    number = f"{crc32(msgspec.json.encode(film)):08x}"
    end = film.times[-1] if film.times else 0.0
    if not end or not all(row.shots for row in film.rows):
        return ""
    cycle, rules, screens = HELD * end, [], []
    for side, row in enumerate(film.rows):
        label, images = html.escape(row.label), []
        for shot, (at, frame) in enumerate(row.shots):
            name = f"f{number}-{side}-{shot}"
            begun = min(99.9, 100 * at / cycle)
            rules.append(f"@keyframes {name}{{0%{{opacity:0}}{begun:.2f}%{{opacity:1}}}}")
            images.append(f'<img alt="" src="{frame}" style="animation-name:{name}">')
        screens.append(
            f'<figure><div class=screen role=img aria-label="{label}, loading">{"".join(images)}'
            f"</div><figcaption>{label}</figcaption></figure>"
        )
    paces = "".join(
        f'<input type=radio name=pace{number} id=pace{number}-{pace} class="pace x{pace}"'
        f"{' checked' if pace == 1 else ''}><label for=pace{number}-{pace}>{words}</label>"
        for pace, words in PACES
    )
    return (
        f"<style>{''.join(rules)}</style>"
        f'<div class=player style="--cycle:{cycle:.2f}s">'
        f"<input type=checkbox id=play{number} class=play><label for=play{number}>"
        f"<span>Play</span><span>Stop</span></label>{paces}"
        f"<div class=screens>{''.join(screens)}</div>"
        f"<div class=clock><u></u><small>0 s</small><small>{_seconds(end)} s</small></div></div>"
    )


def _strip(film: Film) -> str:
    heads = "".join(f"<th scope=col>{_seconds(at)} s</th>" for at in film.times)
    rows = [f"<tr><th></th>{heads}</tr>"]
    for row in film.rows:
        label, cells = html.escape(row.label), []
        for at, frame in zip(film.times, row.frames, strict=True):
            alt = f"{label} after {_seconds(at)} seconds"
            shown = f'<img alt="{alt}" src="{frame}">' if frame else "<i></i>"
            cells.append(f"<td>{shown}</td>")
        rows.append(f"<tr><th scope=row>{label}</th>{''.join(cells)}</tr>")
    return f"<div class=scroll tabindex=0><table class=film>{''.join(rows)}</table></div>"


def _bars(runs: Sequence[Data]) -> str:
    """Medians of each time as bars, with the range of the runs; then what crossed the link."""
    peers = list(dict.fromkeys(run["peer"] for run in runs))
    late = {peer: any(run.get("late") for run in runs if run["peer"] == peer) for peer in peers}
    groups = []
    for head, name, _ in TIMES:
        values = {p: [r.get(name) for r in runs if r["peer"] == p] for p in peers}
        known = [value for row in values.values() for value in row if value is not None]
        if known:
            bars = "".join(
                _bar(number, marked(peer, late[peer]), values[peer], most=max(known))
                for number, peer in enumerate(peers)
            )
            groups.append(f"<div class=group><h4>{head}</h4>{bars}</div>")
    return f"<div class=bars>{''.join(groups)}</div>{_traffic(runs, peers)}"


def _bar(number: int, peer: str, values: Sequence[float | None], *, most: float) -> str:
    known = [value for value in values if value is not None]
    label = html.escape(peer)
    if len(known) < len(values) or not known:
        return f"<div class=bar><span>{label}</span><i></i><b>never</b></div>"
    median = statistics.median(known)
    spread = f" <small>{_seconds(min(known))}-{_seconds(max(known))}</small>" if known[1:] else ""
    return (
        f"<div class=bar><span>{label}</span><i><u class=t{number % charts.TONES} "
        f'style="width:{100 * median / (most or 1):.1f}%"></u></i>'
        f"<b>{_seconds(median)} s{spread}</b></div>"
    )


def _traffic(runs: Sequence[Data], peers: Sequence[str]) -> str:
    heads = ("", "runs", "kB down", "kB up", "connections", "browser's own")
    rows = [[peer, *_counts([run for run in runs if run["peer"] == peer])] for peer in peers]
    return _table(heads, rows)


def _counts(runs: Sequence[Data]) -> list[str]:
    down, up, connections = (
        statistics.median(run.get(name) or 0 for run in runs)
        for name in ("bytes_down", "bytes_up", "connections")
    )
    own = [(run.get("chatter") or {}).get("through_proxy", 0) for run in runs]
    return [
        str(len(runs)),
        f"{down / 1000:.0f}",
        f"{up / 1000:.1f}",
        f"{connections:g}",
        f"{statistics.median(own):g}",
    ]


def _runs(runs: Sequence[Data]) -> str:
    """Runs of any form: a table of what is a plain value in them."""
    plain: dict[str, None] = {}
    for run in runs:
        plain |= {key: None for key, value in run.items() if not isinstance(value, dict | list)}
    columns = list(plain)[:_MOST_COLUMNS]
    rows = [[_text(run.get(name)) for name in columns] for run in runs[:_MOST_ROWS]]
    if not columns:
        return ""
    heads = [name.replace("_", " ") for name in columns]
    more = f"<p class=soft>{len(runs) - _MOST_ROWS} more in the JSON.</p>"
    return _table(heads, rows) + (more if len(runs) > _MOST_ROWS else "")


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th scope=col>{html.escape(text)}</th>" for text in heads)
    body = "".join(
        f"<tr><th scope=row>{html.escape(row[0])}</th>"
        f"{''.join(f'<td>{html.escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    table = f"<table class=figures><tr>{head}</tr>{body}</table>"
    return f"<div class=scroll tabindex=0>{table}</div>"


def _meanings(sections: Sequence[Section]) -> str:
    if not any(_is_page_loads(data["runs"]) for data, _ in sections):
        return ""
    rows = "".join(f"<dt>{head}</dt><dd>{html.escape(said)}</dd>" for head, _, said in TIMES)
    return (
        f"<h2>What the figures mean</h2><dl>{rows}<dt>browser's own</dt>"
        "<dd>requests that Chromium made for itself through the proxy; not the page's</dd></dl>"
    )


def _command(data: Data) -> str:
    return f"<code>{html.escape(data['command'])}</code>"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)
