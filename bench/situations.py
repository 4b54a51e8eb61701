"""Which tool a real language model calls in an everyday situation, from what the server tells it.

Never counts without a model: where none is configured, nothing is measured and that is said.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from bench.figures import Figure, Spread
from commonplace.core.values import Passage, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.ports import Language
    from commonplace.tools.toolset import Toolset

NO_TOOL = "none"
ANSWER_TOKENS = 200
_NAME = re.compile(r"[a-z][a-z_]+")
_ASKED = """\
You are an assistant with these tools. {guides}

The tools, as JSON:
{tools}

You are shown one moment of a conversation with your user. Answer with the name of the one tool \
you call first at this moment, or with {none} where you call no tool; the name alone."""


class Situation(NamedTuple):
    """A moment of a conversation, and the tools of which a careful assistant calls one first."""

    told: str
    expected: frozenset[str]


def _of(told: str, *expected: str) -> Situation:
    return Situation(told, frozenset(expected))


SITUATIONS = (
    _of("The user: Done, v2.1.0 is deployed to production.", "remember_this", "add_entry"),
    _of("The user: I just merged the fix for the login bug.", "remember_this", "add_entry"),
    _of("The user: Please log that I called the bank about the loan.", "add_entry"),
    _of("The user: Note in my log: standup moved to ten.", "add_entry"),
    _of("The user: We decided to drop Redis and keep one database.", "remember_this", "add_entry"),
    _of("The user: Finally, the flaky test is fixed!", "remember_this", "add_entry"),
    _of("The user: I learned today how to read a flame graph.", "remember_this", "add_entry"),
    _of("The user: I finished the chapter on Greek grammar.", "remember_this", "add_entry"),
    _of("The user: Log yesterday 9am: fixed the build.", "add_entry"),
    _of("A new session begins. The user: Good morning, where did I leave off?", "what_was_i_doing"),
    _of("The user: What was I doing yesterday?", "what_was_i_doing"),
    _of("The user: What have I been up to this week?", "what_was_i_doing"),
    _of("The user: I lost my thread. What did I do in the last three hours?", "what_was_i_doing"),
    _of("The user: When did I last deploy the API?", "find_when_i"),
    _of("The user: When did I start learning Greek?", "find_when_i"),
    _of("The user: How many times did I restart the server this month?", "find_when_i"),
    _of("The user: When was the first time I ran ten kilometres?", "find_when_i"),
    _of("The user: Show me the last ten things in my log.", "list_entries"),
    _of("The user: List my newest log entries.", "list_entries"),
    _of("The user: Which log entries of November are tagged bug-fix?", "search_entries"),
    _of("The user: Search my log for the invoice, since Monday.", "search_entries"),
    _of("The user: Find my log entries tagged release but not hotfix.", "search_entries"),
    _of("The user: I feel drained after that meeting, and I do not know why.", "process_thoughts"),
    _of("The user: Write into your journal what you understood of me today.", "process_thoughts"),
    _of("The user: Why did we leave Postgres last spring?", "recall"),
    _of("The user: What do you know about my sister's wedding?", "recall"),
    _of("The user: Open chronicle:4f1c2a7e-0b1d-4c53-9d3e-2b8f6a1c7e55 for me.", "open_ref"),
    _of("The user: What is the capital of Portugal?", NO_TOOL),
    _of("The user: Translate 'good evening' into Finnish.", NO_TOOL),
    _of("The user: Thanks, that is all for today!", NO_TOOL),
)


def situation_figure(toolsets: Sequence[Toolset], model: Language) -> Figure:
    """The share of situations in which the model calls a tool that is expected.

    Raises: what the model raises, as it is asked.
    """
    asked = _instructions(toolsets)
    right, wrong = 0, []
    for each in SITUATIONS:
        chosen = _chosen(model, asked, each)
        right += chosen in each.expected
        if chosen not in each.expected:
            wrong.append(f"{each.told!r}: {chosen}, not {' or '.join(sorted(each.expected))}")
    return Figure(
        name=f"the expected tool, in {len(SITUATIONS)} situations",
        unit="share",
        measured=Spread.of([right / len(SITUATIONS)]),
        floor=None,
        limit=None,
        rule="",
        note="; ".join([f"asked of {model.name}", *wrong]) + ".",
    )


def _chosen(model: Language, instructions: str, situation: Situation) -> str:
    question = Question(
        instructions=instructions,
        passages=(Passage(origin="a moment of a conversation", text=situation.told),),
        max_tokens=ANSWER_TOKENS,
    )
    # A model that thinks aloud names the tool last.
    named = _NAME.findall(model.complete(question).text.lower())
    return named[-1] if named else NO_TOOL


def _instructions(toolsets: Sequence[Toolset]) -> str:
    tools = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
        for toolset in toolsets
        for tool in toolset.tools
    ]
    guides = "\n\n".join(toolset.guide for toolset in toolsets)
    return _ASKED.format(guides=guides, tools=json.dumps(tools), none=NO_TOOL)
