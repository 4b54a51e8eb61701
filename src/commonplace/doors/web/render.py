"""From values to HTML: Jinja2 with everything escaped, Markdown, times and links to entries.

Law: a text that was remembered may be a stranger's. It becomes markup here and nowhere
else; no template marks a value as safe, and none decides what is screened.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from commonplace.core.text import asked_spans, shown_now
from commonplace.doors.web.charts import shares
from commonplace.doors.web.visit import Address
from commonplace.verbs.replaced_since import MOST_NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

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


MOST = 30_000
"""The longest text that is rendered, in characters; a longer one is shown as it was written.

Markup written to be slow takes 20 microseconds a character.
"""

_NESTED = 20
"""Levels of quotes and lists that the parser follows; what lies deeper it leaves out unasked."""

_NESTING = frozenset({"blockquote_open", "bullet_list_open", "ordered_list_open", "list_item_open"})
_SIGNS = re.compile(r"\*\*|__|^#{1,6} +|^> ?|`", re.MULTILINE)
_SCHEMES = ("http://", "https://", "mailto:")


def to_html(text: str) -> Markup:
    """Render Markdown; a very long or very deeply nested text stays as it is written."""
    parser, env = _parser(), dict[str, object]()
    tokens = parser.parse(text, env) if len(text) <= MOST else []
    if not text.strip():
        return Markup()
    if not tokens or any(x.level + 2 > _NESTED for x in tokens if x.type in _NESTING):
        return Markup('<pre class="plain">{}</pre>').format(text)
    shown = parser.renderer.render(tokens, parser.options, env)
    return Markup(shown)  # noqa: S704  the parser escapes, and raw HTML is off


def to_words(text: str) -> str:
    """The words of a Markdown text on one line, for a list: without its commonest signs."""
    return " ".join(_SIGNS.sub("", text).split())


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt(
        "commonmark", {"html": False, "linkify": False, "breaks": True, "maxNesting": _NESTED}
    )
    made.enable(["table", "strikethrough"])
    made.disable(["html_block", "html_inline"])
    made.validateLink = _may_link  # type: ignore[method-assign]  # as its documentation has it
    made.add_render_rule("image", _image_as_text)
    made.add_render_rule("link_open", _link)
    made.core.ruler.push("lower_headings", _lower_headings)
    return made


def _may_link(url: str) -> bool:
    return url.strip().lower().startswith(_SCHEMES)


def _image_as_text(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """An image is never fetched: its description and its address stand in its place."""
    token = tokens[index]
    words = renderer.renderInlineAsText(token.children or [], options, env)
    return str(
        Markup('<span class="image">[image: {} {}]</span>').format(words, token.attrs["src"])
    )


def _link(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, env)


def _lower_headings(state: StateCore) -> None:
    """Headings of an entry stand below those of the page: h1 becomes h3."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1:]) + 2)}"
