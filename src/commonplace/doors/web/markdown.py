"""Markdown of entries as HTML that is safe to show: no raw HTML, no images, links that name no one.

Law: what comes out has only the elements that the parser itself writes, and links to http, https,
mailto and entries of ours.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

MOST = 30_000
"""The longest text that is rendered, in characters; a longer one is shown as it was written.

Markup written to be slow takes 20 microseconds a character.
"""

_NESTED = 20
"""Levels of quotes and lists that the parser follows; what lies deeper it leaves out unasked."""

_NESTING = frozenset({"blockquote_open", "bullet_list_open", "ordered_list_open", "list_item_open"})
_SIGNS = re.compile(r"\*\*|__|~~|^ *(?:> ?)+")
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|!?\[(?P<link>[^][]*)\]\((?:https?://|mailto:)[^()\s]*(?:\([^()\s]*\)[^()\s]*)*"
    r"(?: \"[^\"]*\")?(?:\)|\.\.\.$)"
    r"|(?<![\w*])\*(?P<star>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|(?<!\w)_(?P<line>[^\s_](?:[^_]*[^\s_])?)_(?!\w)"
)
"""Code, a link whose address may be cut, and emphasis, as they stand within a line."""
_HEADING = re.compile(r"^ {0,3}#{1,6}(?: +(.*?))??(?: +#+)? *$")
_ITEM = re.compile(r"^ *(?:[-*+]|\d{1,9}[.)]) +(?:\[[ xX]\] +)?")
_RULE = re.compile(r"^ {0,3}(?:=+|-{2,}|\*{3,}|_{3,}) *$")
_APART = "\u00b7"
"""Stands between a heading or an item of a list and what comes next, on one line."""
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
    """The words of a Markdown text on one line, for a list: without its commonest signs.

    A heading and the items of a list stand apart from what is around them; a colon is enough.
    """
    said: list[str] = []
    is_apart = is_listed = has_gap = False
    for line in text.splitlines():
        plain = _SIGNS.sub("", line)
        if _RULE.match(plain):  # what underlines a heading, too
            is_apart = True
            continue
        heading, item = _HEADING.match(plain), _ITEM.match(plain)
        begun = (heading[1] or "") if heading else plain[item.end() :] if item else plain
        begun = _INLINE.sub(lambda found: found[found.lastgroup or 0], begun).replace("`", "")
        if not (words := " ".join(begun.split())):
            has_gap = True
            continue
        is_over = is_listed and has_gap and not item and not plain[0].isspace()
        if said and (heading or item or is_apart or is_over) and not said[-1].endswith(":"):
            said.append(_APART)
        said.append(words)
        is_apart, has_gap = heading is not None, False
        is_listed = item is not None or (is_listed and not is_over)
    return " ".join(said)


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
