"""Which tool a real language model calls in an everyday situation, from what the server tells it.

Never counts without a model: where none is configured, nothing is measured and that is said.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from bench.figures import Figure, Spread
from commonplace.core.values import Passage, Question
from commonplace.verbs.selection import merge_toolsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.ports import Language
    from commonplace.verbs.toolset import Tool, Toolset

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
    """A moment of a conversation, and the tool that a careful assistant calls first.

    claim: words of a description by which its tool claims the situation, and no other one does.
    """

    moment: str
    expected: str
    claim: str = ""


_NOTED = "log, track or note something"
_DONE = "finish, fix, deploy or decide something"
_DAY = "'what did I do yesterday'"
_LEFT = "'where did I leave off'"
_BEGIN = "start of a session or a task"
_WHY = "what was decided, done, learned or felt, and why"

SITUATIONS = (
    Situation("The user: Done, v2.1.0 is deployed to production.", "add_entry", _DONE),
    Situation("The user: I just merged the fix for the login bug.", "add_entry", _DONE),
    Situation("The user: Please log that I called the bank.", "add_entry", _NOTED),
    Situation("The user: Note in my log: standup moved to ten.", "add_entry", _NOTED),
    Situation("The user: We decided to drop Redis.", "add_entry", _DONE),
    Situation("The user: Finally, the flaky test is fixed!", "add_entry", _DONE),
    Situation("The user: I finished the chapter on Greek.", "add_entry", _DONE),
    Situation("The user: Log yesterday 9am: fixed the build.", "add_entry", _NOTED),
    Situation("The user: What was I doing yesterday?", "list_by_time", _DAY),
    Situation("The user: I lost my thread. What did I do today?", "list_by_time", _DAY),
    Situation("The user: Good morning, where did I leave off?", "list_by_time", _LEFT),
    Situation("The user: Show me all that was written in March.", "list_by_time", "in a time"),
    Situation("The user: When did I last deploy the API?", "find_when_i", "'when did I last"),
    Situation("The user: How many times did I restart it?", "find_when_i", "'how many times"),
    Situation("The user: When did I first run ten kilometres?", "find_when_i", "'when did I"),
    Situation("A session begins. The user: Fix the export of invoices.", "recall", _BEGIN),
    Situation("A session begins. The user: We go on with the parser.", "recall", _BEGIN),
    Situation("The user: Why did we leave Postgres last spring?", "recall", _WHY),
    Situation("The user: What do you know about my sister's wedding?", "recall", _WHY),
    Situation("The user: Open chronicle:4f1c2a7e for me.", "open_ref", "a ref or a path"),
    Situation("A search has shown an excerpt that is cut.", "open_ref", "one entry whole"),
    Situation("The user: That entry is wrong, it was v2.2.", "amend", "is wrong"),
    Situation("You open a note of yours that is outdated now.", "amend", "held once"),
    Situation("The user: Delete the note about my salary.", "amend", "must go"),
    Situation("You found out, after an hour, why the test hung.", "process_thoughts", "solving"),
    Situation("You notice: the user wants small commits.", "process_thoughts", "the user likes"),
    Situation(
        "The user: Write down what you understood today.", "process_thoughts", "you learn, think"
    ),
    Situation("The user: What is the capital of Portugal?", NO_TOOL),
    Situation("The user: Translate 'good evening' into Finnish.", NO_TOOL),
    Situation("The user: Thanks, that is all for today!", NO_TOOL),
)


def claims_of(tool: Tool) -> str:
    """What a description says its tool is for: without what it leaves to another one."""
    clauses = re.split(r"(?<=[.;])\s+", " ".join(tool.description.split()))
    return " ".join(x for x in clauses if not re.search(r"\buse \w+\.$|^Not ", x))


def situation_figure(toolsets: Sequence[Toolset], model: Language) -> Figure:
    """The share of situations in which the model calls a tool that is expected.

    Raises: what the model raises, as it is asked.
    """
    asked = _instructions(toolsets)
    right, wrong = 0, []
    for each in SITUATIONS:
        chosen = _chosen(model, asked, each)
        right += chosen == each.expected
        if chosen != each.expected:
            wrong.append(f"{each.moment!r}: {chosen}, not {each.expected}")
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
        passages=(Passage(origin="a moment of a conversation", text=situation.moment),),
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
        if tool.listed
    ]
    guides = merge_toolsets(toolsets).instructions
    return _ASKED.format(guides=guides, tools=json.dumps(tools), none=NO_TOOL)
