"""From values to HTML: Jinja2 with everything escaped, Markdown, times and links to entries.

Law: a text that was remembered may be a stranger's. It becomes markup here or in `markdown.py`,
and nowhere else; no template marks a value as safe, and none decides what is screened.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from commonplace.core.clock import render_instant
from commonplace.core.text import asked_spans, counted, shown_now
from commonplace.doors.web.charts import shares
from commonplace.doors.web.markdown import to_html, to_words
from commonplace.doors.web.visit import Address
from commonplace.verbs.answers import MOST_NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime, tzinfo

    from commonplace.doors.web.visit import Visit

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def environment() -> Environment:
    """The templates, compiled at their first use."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_shown,
    )
    made.filters["markdown"] = lambda text: to_html(shown_now(text))
    made.filters["words"] = lambda text: to_words(shown_now(text))
    made.filters["urlencode"] = lambda text: quote(shown_now(text), safe="")
    made.filters["kind"] = kind_of
    made.filters["time"] = time_of
    made.filters["since"] = since
    made.filters["clock"] = clock_of
    made.filters["instant"] = instant_of
    made.filters["day"] = day_of
    made.filters["day_name"] = day_name
    made.filters["by_day"] = by_day
    made.filters["counted"] = counted
    made.filters["marked"] = marked
    made.globals["shares"] = shares
    made.globals["once"] = lambda: token_hex(8)
    made.globals["most_named"] = MOST_NAMED
    made.globals["static_version"] = _static_version()
    return made


def _shown(value: Any) -> Any:
    """The last step of every value of a page, in words, fields and links alike: no secret."""
    if isinstance(value, str) and not isinstance(value, Markup | Address):
        return shown_now(value)
    return value


def render(template: str, **values: Any) -> str:
    """Fill a template."""
    return environment().get_template(template).render(**values)


def time_of(at: datetime, visit: Visit) -> Markup:
    """A time as people say it: 17:42 today, Tue 17:42 this week, 12 Nov, 12 Nov 2025."""
    local, now = at.astimezone(visit.zone), visit.now.astimezone(visit.zone)
    days = (now.date() - local.date()).days
    if not days:
        said = f"{local:%H:%M}"
    elif 0 < days < _WEEK:
        said = f"{local:%a %H:%M}"
    else:
        said = short_day(local.date(), visit)
    return _timed(at, visit.zone, said)


def since(at: datetime, visit: Visit) -> str:
    """Since when, within a sentence: 17:42, yesterday, 18:20, Tuesday, 9:05, 12 November."""
    local, now = at.astimezone(visit.zone), visit.now.astimezone(visit.zone)
    days = (now.date() - local.date()).days
    clock = f"{local:%H:%M}"
    day = "yesterday" if days == 1 else f"{local:%A}" if days < _WEEK else f"{local.day} {local:%B}"
    if not days:
        return clock
    return day if clock == "00:00" else f"{day}, {clock}"


def clock_of(at: datetime, visit: Visit) -> Markup:
    """The time of day, for what stands below the heading of its day."""
    return _timed(at, visit.zone, f"{at.astimezone(visit.zone):%H:%M}")


def instant_of(at: datetime, visit: Visit) -> Markup:
    """The whole of a time, to the minute."""
    return _timed(at, visit.zone, render_instant(at, visit.zone))


def _timed(at: datetime, zone: tzinfo, said: str) -> Markup:
    """A time in words, the whole of it on hover, and exactly for programs."""
    whole = f"{at.astimezone(zone):%A, %Y-%m-%d %H:%M:%S %Z}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), whole, said)


def short_day(day: date, visit: Visit) -> str:
    """A day in a few letters: 12 Nov, 12 Nov 2025."""
    year = "" if day.year == visit.now.astimezone(visit.zone).year else f" {day.year}"
    return f"{day.day} {day:%b}{year}"


def day_name(day: date, visit: Visit) -> str:
    """A day as people say it: Today, Yesterday, Thursday, 19 November, with its year if another."""
    today = visit.now.astimezone(visit.zone).date()
    near = {0: "Today", 1: "Yesterday"}.get((today - day).days)
    year = "" if day.year == today.year else f" {day.year}"
    return near or f"{day:%A}, {day.day} {day:%B}{year}"


def by_day(hits: Sequence[Any], visit: Visit) -> list[tuple[date, list[Any]]]:
    """Hits, or rows of them, in their order, those of one day together."""

    def day(hit: Any) -> date:
        at: datetime = hit["at"] if isinstance(hit, dict) else hit.doc.at
        return at.astimezone(visit.zone).date()

    days = groupby(hits, day)
    return [(day, list(of_day)) for day, of_day in days]


def day_of(at: datetime, zone: tzinfo) -> str:
    """The day of a time in its reader's zone, such as `Mon 23 Nov 2026`."""
    local = at.astimezone(zone)
    return f"{local:%a} {local.day} {local:%b %Y}"


_WEEK = 7

_KINDS = {
    "event": "",
    "entry": "",
    "raw": "",
    "fact": "fact",
    "hourly_rollup": "summary of an hour",
    "daily_rollup": "summary of a day",
    "weekly_rollup": "summary of a week",
    "monthly_rollup": "summary of a month",
    "yearly_rollup": "summary of a year",
    "profile_snapshot": "profile",
    "todo": "to-do",
    "turn": "message",
}


def kind_of(kind: str) -> str:
    """What people call a kind of entry; nothing for one that says nothing to them."""
    return _KINDS.get(kind, kind.replace("_", " "))


def marked(text: str, about: str) -> Markup:
    """A text with the words of a question marked, in any of their forms."""
    text = shown_now(text)  # before the marks part what is secret
    parts: list[Markup] = []
    done = 0
    for start, end in asked_spans(text, about):
        parts += [escape(text[done:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        done = end
    return Markup("").join([*parts, escape(text[done:])])


def _static_version() -> str:
    """Eight hex digits that change with the stylesheet and the script."""
    whole = sha256()
    for path in sorted(STATIC.iterdir()):
        whole.update(path.read_bytes())
    return whole.hexdigest()[:8]
