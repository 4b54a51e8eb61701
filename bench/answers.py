"""What a model pays: tokens of the lists of tools, and of ten typical answers, with limits.

Counts the text that a model is given, as bytes / 4; knows nothing of time.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.corpus import make_thoughts
from bench.figures import Figure, Spread
from bench.homes import Home
from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.text import tokens_in
from commonplace.verbs.selection import merge_toolsets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTS = {"default": 1500, "classic": 4000, "all": 5750}
"""The most tokens of each list of tools: every session pays for it."""

GUIDE_TOKENS = 200
ENTRIES = 200
_REF = re.compile(r"\b(?:private|chronicle):[\w/-]+")


class TypicalAnswer(NamedTuple):
    """A call as models make it, and what its text may cost; `REF` stands for a ref found before."""

    tool: str
    arguments: dict[str, Any]
    tokens: int


ANSWERS = (
    TypicalAnswer("process_thoughts", {"technical_insights": "WAL mode ends the locking."}, 80),
    TypicalAnswer("add_entry", {"message": "deployed v2.1.0", "tags": ["release"]}, 60),
    TypicalAnswer("add_entry", {"message": "fixed the login bug", "asked": False}, 60),
    TypicalAnswer("recall", {"query": "why did the exporter lose its session"}, 1000),
    TypicalAnswer("recall", {"query": "exporter", "limit": 3}, 450),
    TypicalAnswer("recall", {"query": "what did I do last week"}, 1000),
    TypicalAnswer("list_by_time", {"when": "today"}, 200),
    TypicalAnswer("list_by_time", {}, 1900),
    TypicalAnswer("find_when_i", {"what": "when did I deploy"}, 120),
    TypicalAnswer("open_ref", {"ref": "REF"}, 150),
)


def list_figures(scratch: Path) -> Iterator[Figure]:
    """The lists of tools, and the instructions that stand before the default one."""
    for name, most in LISTS.items():
        environ = {"COMMONPLACE_HOME": str(scratch), "COMMONPLACE_TOOLSETS": name}
        app = App(read_settings(environ=environ, cwd=scratch.parent, home=None), user_home=None)
        offered = merge_toolsets(app.toolsets())
        shown = [
            {
                "name": x.name,
                "title": x.title,
                "description": x.description,
                "inputSchema": x.schema,
            }
            for x in offered.tools
            if x.listed
        ]
        yield _figure(f"list of {len(shown)} tools, {name}", json.dumps(shown), most)
        if name == "default":
            yield _figure("instructions, default", offered.instructions, GUIDE_TOKENS)


def answer_figures(scratch: Path) -> Iterator[Figure]:
    """Ten answers in a home of a few hundred entries, found by words."""
    home = Home(scratch).make()
    home.write(make_thoughts(ENTRIES))
    with home.opened(encoder="absent") as app:
        tools = {tool.name: tool for each in app.toolsets() for tool in each.tools}
        found = ""
        for each in ANSWERS:
            given = {x: found if y == "REF" else y for x, y in each.arguments.items()}
            text = tools[each.tool].call(given).text
            ref = _REF.search(text)
            found = ref[0] if ref else found
            yield _figure(f"{each.tool} {json.dumps(each.arguments)}", text, each.tokens)


def _figure(name: str, text: str, most: int) -> Figure:
    return Figure(
        name=name,
        unit="tokens",
        measured=Spread.of([tokens_in(text)]),
        floor=None,
        limit=most,
        rule=f"{most}",
    )
