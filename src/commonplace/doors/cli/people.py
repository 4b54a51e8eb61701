"""Lists as people read them: a line or two an entry, date first, colours on a terminal, a pager.

Never shows stored text as it is: what could steer a terminal is made visible.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from commonplace.core.brief_item import CLIENT, OWN
from commonplace.core.clock import render_interval, to_local
from commonplace.core.fence import visible
from commonplace.core.text import (
    asked_spans,
    body_of,
    counted_entries,
    first_words,
    without_front_matter,
)
from commonplace.core.values import Interval
from commonplace.doors.cli.terminal_width import (
    cells,
    cut,
    fitting,
    terminal_size,
    wrapped_prose,
)
from commonplace.journals.table import JOURNALS
from commonplace.verbs.answers import WEAK, place_lines, when_of, word_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

_COLOURS = (163, 29, 63, 130, 131, 243)
"""Of xterm's 256 colours, the same in every theme. Each has a contrast of 4.4 to 1 or more with
both white and black; more than 4.58 is impossible."""
_LEAST = 20
_UNBOUNDED = 1_000_000
"""Columns of a page that is on no terminal."""
_LEGS = {"priors": "its kind and time"}
"""What people call a part of a score, where that is not its name."""

_TRACE = 0.01
"""A share of a score that is not worth a word."""

_SAID = {"turn", "session"}
"""The kinds of entry that are what was said in a session."""

_SPEAKERS = ("user: ", "assistant: ")
"""What a turn begins with where it is filed with those beside it."""

_GOING_ON = {"cursor": "--cursor", "next_start": "--start", "next_first": "--first"}
"""What a list is gone on with where it was cut: the fact that says so, and the option."""


class ListLook(Struct, frozen=True, kw_only=True):
    """How a list is shown.

    Attributes:
        zone: The user's, for its times.
        about: The question; its words are marked.
        time_line: How the tool says the time was read; else the interval is shown.
        width: The terminal's columns; None off a terminal, where nothing is cut or coloured.
        lines: How many lines an entry may take; None for its whole text.
    """

    zone: tzinfo
    about: str = ""
    time_line: str = ""
    width: int | None = None
    lines: int | None = 2


def render_list(shaped: Mapping[str, Any], look: ListLook) -> str:
    """A list's answer as text: its interval, its entries, what is left out, its notes."""
    width = look.width or _UNBOUNDED
    lines = [wrapped_prose(line, width) for line in _head(shaped, look)]
    items: Sequence[Mapping[str, Any]] = shaped["items"]
    numbers = len(str(len(items)))
    for number, item in enumerate(items, 1):
        lines += _item_lines(number, numbers, item, look)
    if shaped.get("left_out"):
        lines.append(f"{shaped['left_out']} more were left out.")
    if shaped.get("folded"):
        lines.append(f"{shaped['folded']} less likely: `--all`")
    going_on = ((option, shaped.get(name)) for name, option in _GOING_ON.items())
    lines += [f"More with {option} {visible(str(at))}" for option, at in going_on if at]
    lines += [wrapped_prose(f"Note: {note}", width) for note in shaped.get("notes", ())]
    return "\n".join(lines)


def render_page(shaped: Mapping[str, Any], look: ListLook) -> str:
    """An entry whole, under its first words, and a line for what lies around it.

    The front matter of a file is left out: what it says stands in the line below the title.
    """
    body = without_front_matter(shaped["text"]).strip()
    width = look.width or _UNBOUNDED
    title = first_words(body_of(body), min(width, 80) - len("..."))
    if len(body.splitlines()) == 1 and body_of(body) == body:  # its first words are all of it
        title = body
    at = when_of(datetime.fromisoformat(shaped["at"]), look.zone)
    where = f"in {shaped['where']}" if shaped.get("where") else ""
    tags = " ".join(f"#{visible(tag)}" for tag in shaped.get("tags", ()))
    head = [at, coloured(shaped["journal"], shaped["journal"]), visible(where), tags]
    named = [bold(line) for line in wrapped_prose(visible(title), width).splitlines()]
    lines = [*named, "  ".join(filter(None, head)), dim(visible(shaped["ref"]))]
    if shaped.get("expires"):
        lines.append(f"Expires {when_of(datetime.fromisoformat(shaped['expires']), look.zone)}.")
    if shaped.get("origin"):
        lines.append(visible(f"Imported from {shaped['origin']}."))
    lines += word_lines(shaped.get("word", OWN))
    replaced = shaped.get("replaced")
    lines += place_lines(
        look.zone,
        superseded_by=shaped.get("superseded_by", ""),
        replaced=datetime.fromisoformat(replaced) if replaced else None,
        supersedes=shaped.get("supersedes", ""),
    )
    if body != title:
        lines += ["", wrapped_prose(visible(body), width)]
    near = [
        *((name, shaped.get(name)) for name in ("before", "after")),
        ("summed up in", shaped.get("rollup")),
        *(("made from", each) for each in shaped.get("sources") or ()),
    ]
    found = [_near_line(name, each, look) for name, each in near if each]
    return "\n".join([*lines, *(["", *found] if found else [])])


def print_list(text: str) -> None:
    """Print a list on a terminal, in a pager where it is longer than the screen: the best first."""
    if sys.stdin.isatty() and text.count("\n") + 2 > terminal_size().lines:
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(text, color=True)
        return
    sys.stdout.write(text + "\n")


def is_coloured() -> bool:
    """Whether colours are wanted: unless NO_COLOR is set (no-color.org) or the terminal is dumb."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _head(shaped: Mapping[str, Any], look: ListLook) -> Iterator[str]:
    if shaped.get("counted"):
        yield shaped["counted"]
    if look.time_line:
        yield look.time_line
    elif shaped.get("interval"):
        ends = (shaped["interval"][end] for end in ("since", "until"))
        start, end = (datetime.fromisoformat(at) if at else None for at in ends)
        yield f"Time: {render_interval(Interval(start=start, end=end), look.zone)}"
    if shaped.get("outside_time"):
        yield "Nothing lies in that time. The best of other times:"
    if shaped.get("asks_all"):
        yield "A question for everything: what was written last, then what may fit."
    if shaped.get("weak"):
        yield WEAK
    elif shaped.get("chance") is not None:  # that was asked for
        yield f"Chance that these are about the question: {shaped['chance']:.0%}"


def _item_lines(
    number: int, numbers: int, item: Mapping[str, Any], look: ListLook
) -> Iterator[str]:
    at = when_of(datetime.fromisoformat(item["at"]), look.zone) if item.get("at") else "-" * 16
    age = item.get("age", "")
    journal = item.get("journal", "")
    ref = visible(item.get("ref", ""))
    mark = mark_of(item.get("word", OWN))
    text = mark + replaced_mark(item, look.zone) + _said_where(item) + _words_of(item)
    tags = "".join(f" #{visible(tag)}" for tag in item.get("tags", ()) if isinstance(tag, str))
    tags += "".join(f" #branch:{visible(name)}" for name in item.get("branches", ()))
    tags += " #done" if item.get("done") else ""  # a list of to-dos says it without a tag
    if look.width is None:
        yield "  ".join(filter(None, [at, age, ref, text + tags]))
        if look.lines is None:
            yield from (f"    {visible(line)}" for line in item.get("text", "").splitlines())
        return
    text = f"{age}: {text}" if age else text
    lead = f"{number:>{numbers}}  {at}  "
    name = f"{journal:9}  "
    rest = max(look.width - cells(lead + name) - 1, _LEAST)
    first = cut(text + tags, rest) if look.lines == 1 else fitting(text + tags, rest)
    left = (text + tags)[len(first) :].strip()
    answer = _answer_of(item)
    question = text.removesuffix(answer).rstrip() if answer else ""
    if cells(question) > rest and cells(left) > rest:  # else it is cut before its answer
        first, left = cut(question, rest), answer + tags
    yield f"{lead}{coloured(name, journal)}{_marked(first, look.about)}"
    indent = " " * cells(lead + name)
    if look.lines is None:
        yield f"{indent}{dim(ref)}"
        whole = wrapped_prose(visible(item.get("text", "")), look.width - len(indent))
        yield from (f"{indent}{_marked(line, look.about)}" for line in whole.splitlines())
        yield from _why(item, indent, look.width)
        return
    if left and look.lines > 1:
        yield f"{indent}{_marked(cut(left, rest), look.about)}"
    yield from _why(item, indent, look.width)


def _why(item: Mapping[str, Any], indent: str, width: int) -> Iterator[str]:
    """How an item was found, in words, where that was asked for."""
    if "by" not in item:
        return
    legs: Mapping[str, float] = item.get("legs", {})
    whole = sum(legs.values())
    shares = [(name, share / whole) for name, share in legs.items() if whole]
    given = [f"{_LEGS.get(name, name)} {share:.0%}" for name, share in shares if share > _TRACE]
    said = {
        "words": "found by its words",
        "meaning": "found by its meaning",
        "both": "found by its words and its meaning",
    }.get(item["by"], "listed for its time")
    said += f" ({', '.join(given)})" if len(given) > 1 else ""
    if item.get("similarity") is not None:
        said += f"; nearness in meaning {item['similarity']:.2f} of 1"
    if item.get("score") is not None:
        said += f"; score {item['score']:.2f} of 1"
    for line in wrapped_prose(said, width - len(indent)).splitlines():
        yield dim(f"{indent}{line}")


def _words_of(item: Mapping[str, Any]) -> str:
    """What an entry says; of a turn without a word, the tools that were called in it."""
    words = visible(" ".join(item.get("text", "").split()))
    if words or not item.get("tools"):
        return words
    return visible(f"(tools: {', '.join(item['tools'])})")


def _answer_of(item: Mapping[str, Any]) -> str:
    """What was said last in an exchange, after the name of who said it; empty for any other."""
    last = item.get("text", "").rpartition("\n\n")[2]
    is_one = item.get("kind") in _SAID and last.startswith(_SPEAKERS)
    return visible(" ".join(last.split())) if is_one else ""


def _said_where(item: Mapping[str, Any]) -> str:
    """Of what was said in a session: the name of the project, and who said it."""
    if item.get("kind") not in _SAID:
        return ""
    project = PurePath(item.get("where", "")).name
    is_named = item.get("text", "").startswith(_SPEAKERS)  # an exchange begins with who spoke
    author = "" if is_named else item.get("author", "")
    parts = [f"[{project}]" if project else "", f"{author}:" if author else ""]
    return visible("".join(f"{part} " for part in parts if part))


def mark_of(word: str) -> str:
    """A mark of what is a repository's or a client's word."""
    if word == CLIENT:
        return "[from the client's memory] "
    return "" if word == OWN else "[from the repository] "


def replaced_mark(item: Mapping[str, Any], zone: tzinfo) -> str:
    """When it was replaced or a later one was; of what sums up, how many were replaced since."""
    link, said = item.get("replaced_by"), "replaced"
    if since := item.get("replaced_since"):
        return f"[{counted_entries(len(since))} replaced since] "
    if not link:
        link, said = item.get("later"), "later entry"
    if not link:
        return ""
    when = to_local(datetime.fromisoformat(link["at"]), zone).date() if link["at"] else ""
    return f"[{said} {when}] " if when else f"[{said}] "


def _near_line(name: str, near: Mapping[str, Any], look: ListLook) -> str:
    at = when_of(datetime.fromisoformat(near["at"]), look.zone)
    line = f"{name} {at}  {visible(' '.join(near['text'].split()))}"
    return dim(line if look.width is None else cut(line, look.width))


def coloured(name: str, journal: str) -> str:
    """A word in the colour of a journal, where colours are wanted."""
    places = {row.name: place for place, row in enumerate(JOURNALS)}
    if not is_coloured() or journal not in places:
        return name
    return click.style(name, fg=_COLOURS[places[journal] % len(_COLOURS)])


def bold(text: str) -> str:
    """A text in bold letters, where colours are wanted."""
    return click.style(text, bold=True) if is_coloured() else text


def dim(text: str) -> str:
    """A text in the dimmer colour, where colours are wanted."""
    return click.style(text, dim=True) if is_coloured() else text


def _marked(text: str, about: str) -> str:
    """The text with the words of the question marked, in any of their forms."""
    parts: list[str] = []
    done = 0
    for start, end in asked_spans(text, about) if is_coloured() else ():
        parts += [text[done:start], click.style(text[start:end], bold=True, underline=True)]
        done = end
    return "".join([*parts, text[done:]])
