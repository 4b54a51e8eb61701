"""Owns what of a text of memory is searched: no HTML, one line, case and signs as they were.

Pure, and linear in the length of any text.
"""

from __future__ import annotations

import re

# Only names of HTML: `List<String>` and `<ann@example.org>` are text.
_INLINE = frozenset(
    """a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp
    small span strike strong sub sup time tt u var wbr""".split()
)
_BLOCK = frozenset(
    """address applet area article aside audio base body blockquote br button canvas caption center
    col colgroup datalist dd details dialog dir div dl dt embed fieldset figcaption figure footer
    form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input legend li
    link main map menu meta meter nav noframes noscript object ol optgroup option output p param
    picture pre progress rp rt ruby script search section select slot source style summary svg
    table tbody td template textarea tfoot th thead title tr track ul video""".split()
)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?:[\s/][^<>]*)?>")
_OPENS = re.compile(r"<(?:!--|!doctype\b|(script|style)\b)", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def normalised(text: str) -> str:
    """The text without HTML and with single spaces; what stood between tags stays as it was."""
    if "<" in text:
        text = _TAG.sub(_without_tag, _without_hidden(text))
    if "&" in text:
        from html import unescape

        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return " ".join(text.split())


def _without_hidden(text: str) -> str:
    """Without what a page never shows: comments, the doctype, scripts and styles."""
    kept: list[str] = []
    at = 0
    # Where an end stands nowhere more it is not sought again: that would be quadratic.
    endless: set[str] = set()
    lowered = text.lower() if len(text.lower()) == len(text) else text
    for found in _OPENS.finditer(text):
        if found.start() < at:
            continue
        name = (found[1] or "").lower()
        end = f"</{name}" if name else "-->" if found[0] == "<!--" else ">"
        stop = -1 if end in endless else lowered.find(end, found.end())
        if stop < 0:
            endless.add(end)
            continue
        kept += [text[at : found.start()], " "]
        at = stop + (0 if name else len(end))
    return "".join([*kept, text[at:]])


def _without_tag(found: re.Match[str]) -> str:
    name = found[1].lower()
    if name in _INLINE:
        return ""
    return " " if name in _BLOCK else found[0]
