"""From values to HTML: Jinja2 with everything escaped, Markdown, times and links to entries.

Law: a text that was remembered may be a stranger's. It becomes markup here or in `markdown.py`,
and nowhere else; no template marks a value as safe, and none decides what is screened.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from commonplace.core.text import asked_spans, shown_now
from commonplace.doors.web.charts import shares
from commonplace.doors.web.markdown import to_html, to_words
from commonplace.doors.web.visit import Address
from commonplace.verbs.replaced_since import MOST_NAMED

if TYPE_CHECKING:
    from datetime import datetime, tzinfo


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
    made.filters["day"] = day_of
    made.filters["marked"] = marked
    made.globals["shares"] = shares
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


def time_of(at: datetime, zone: tzinfo) -> Markup:
    """A time as people read it in their zone, and exactly for programs."""
    local = at.astimezone(zone)
    return Markup('<time datetime="{}">{}</time>').format(
        at.isoformat(), local.strftime("%Y-%m-%d %H:%M")
    )


def day_of(at: datetime, zone: tzinfo) -> str:
    """The day of a time in its reader's zone, such as `Mon 23 Nov 2026`."""
    local = at.astimezone(zone)
    return f"{local:%a} {local.day} {local:%b %Y}"


_KINDS = {
    "raw": "recorded",
    "fact": "recorded as a fact",
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
    """What people call a kind of entry."""
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
