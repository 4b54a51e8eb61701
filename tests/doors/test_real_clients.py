"""What a user of each real client gets, as one story of sessions; `make world` alone runs it.

Set up as `commonplace setup` leaves it, and allowed to call by nothing but `--allow`. A scripted
model stands in for the client's own. Each step is a cell of the table in docs/clients.md.
"""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct
from tests.doors.npm import needs_clients
from tests.doors.real_clients import (
    claude_session,
    codex_session,
    gemini_session,
    gemini_settings,
    opencode_session,
    plain_environment,
    start,
)
from tests.doors.scripted_model import DONE, Call, ScriptedModel, call
from tests.doors.setup.commands import setup
from tests.doors.terminal import run

pytestmark = [*needs_clients, pytest.mark.world]

ASKED = "The harbour gate jams at low tide. Look after it."
NOTE = "The harbour gate jams at low tide.\nTODO: oil the hinge of the harbour gate."
LOGGED = "Greased the lower hinge of the harbour gate."
GOING_ON = "And what of the upper hinge?"
FORKED = "Try it with tallow in place of grease."
COMPACTED = "Summarise it, and go on."
KILLED = "Look for the quokkarine under the pier."
AFTERWARDS = "Where did we leave off?"
TOOLS = frozenset(
    "recall list_by_time open_ref amend process_thoughts add_entry find_when_i".split()
)
MANY_TOKENS = 900_000
"""What a turn is said to have taken: more than the half of any context, from which clients compact."""


class RealClient(Struct, frozen=True, kw_only=True):
    """A client, and how it is driven.

    Attributes:
        name: As `setup` has it.
        session: One session: a model, a task, flags.
        going_on: Flags of a session that goes on.
        forked: Flags of one that goes on apart.
        compacted: What is typed so that the context is compacted, and flags.
        is_captured: Whether hooks copy what was said; else an import does.
        absent: What it does not offer, or cannot be driven to by a script.
    """

    name: str
    session: object
    going_on: tuple[str, ...]
    forked: tuple[str, ...] = ()
    compacted: tuple[str, tuple[str, ...]] = (COMPACTED, ())
    is_captured: bool = True
    absent: tuple[str, ...] = ()


CLIENTS = (
    RealClient(
        name="claude-code",
        session=claude_session,
        going_on=("--continue",),
        forked=("--continue", "--fork-session"),
        compacted=("/compact", ("--continue",)),
    ),
    RealClient(
        name="codex",
        session=lambda *words, **how: codex_session(
            *words[:2], "--dangerously-bypass-hook-trust", *words[2:], **how
        ),
        going_on=("resume", "--last"),
        forked=("fork", "ID"),
        compacted=(COMPACTED, ("-c", "model_auto_compact_token_limit=50000", "resume", "--last")),
    ),
    RealClient(
        name="gemini",
        session=gemini_session,
        going_on=("--resume", "latest"),
        # It writes a chat down at the end of a turn, and compacts a window of a million tokens.
        absent=("fork", "compact", "told after compact", "said before a kill"),
    ),
    RealClient(
        name="opencode",
        session=opencode_session,
        going_on=("--continue",),
        forked=("--continue", "--fork"),
        compacted=(COMPACTED, ("--continue",)),
        is_captured=False,
        absent=("told after compact",),
    ),
)


class Story:
    """What a client did of the story, step by step."""

    def __init__(self, client, subtests, record_property):
        self.client = client
        self._subtests = subtests
        self._record = record_property

    @contextmanager
    def step(self, what):
        """A step that may fail, so that the others are tried all the same."""
        outcome = "failed"
        with self._subtests.test(what):
            yield
            outcome = "passed"
        self._record("seen", f"{self.client.name}|{what}|{outcome}")

    def offers(self, what):
        """Whether the client has this; where it has not, the table says so."""
        if what in self.client.absent:
            self._record("seen", f"{self.client.name}|{what}|not offered")
        return what not in self.client.absent

    def session(self, model, task, *flags, **how):
        """A session of the client."""
        return self.client.session(model, task, *flags, **how)


@pytest.fixture(params=CLIENTS, ids=lambda x: x.name)
def story(request, subtests, record_property, monkeypatch):
    """The story of a client, in an environment that it would hand on."""
    plain_environment(monkeypatch)
    return Story(request.param, subtests, record_property)


def said(client):
    """Who said what in each session that was kept, by its id, the last to go on last."""
    if not client.is_captured:
        assert run("import", client.name).exit_code == 0
    kept = Path.home() / ".local/share/commonplace/users/me/transcripts" / client.name
    sessions = {
        path.stem: [x for x in map(json.loads, path.read_text().splitlines()) if x.get("text")]
        for path in kept.rglob("*.jsonl")
    }
    return {
        name: [f"{x['role']}: {x['text']}" for x in each]
        for name, each in sorted(sessions.items(), key=lambda item: item[1][-1]["at"])
    }


def found(pattern):
    """The ref of the first entry in some results that looks so."""
    return lambda results: {"ref": re.search(pattern, "\n".join(results))[0]}


EVERY_TOOL = (
    call("process_thoughts", project_notes=NOTE),
    call("add_entry", message=LOGGED, tags=["gate"]),
    call("recall", query="What is wrong with the harbour gate?"),
    Call("open_ref", found(r"private:project@[\w/-]+")),
    call("find_when_i", what="greased the hinge"),
    call("list_by_time", when="today"),
    Call(
        "amend", lambda so_far: {**found(r"chronicle:[\w-]+")(so_far), "text": f"{LOGGED} Twice."}
    ),
)


def setup_files(name):
    """The files that `setup` changes, with their content: those that are there."""
    blocks = setup(name, "--print", "--allow", "all")["blocks"]
    paths = [Path(block["file"]) for block in blocks]
    return {path: path.read_bytes() if path.exists() else None for path in paths}


@pytest.mark.design("004-47")
def test_a_story(story):
    """From an empty home back to it."""
    client = story.client
    if client.name == "gemini":
        gemini_settings()
    before = setup_files(client.name)
    setup(client.name, "--allow", "all")
    write_and_ask(story)
    go_on(story)
    die(story)
    take_out(story, before)


def write_and_ask(story):
    """One session with a call of each tool."""
    with ScriptedModel(*EVERY_TOOL) as model:
        story.session(model, ASKED)
    with story.step("tools"):
        assert set(model.first_tools) == TOOLS
        assert "ask it with recall before you answer" in model.asked[0]
    with story.step("calls"):
        assert len(model.given) == len(EVERY_TOOL)
        written, logged, recalled, opened, when, listed, amended = model.given
        assert "Thoughts recorded" in written
        assert "Entry created" in logged
        assert NOTE.splitlines()[0] in recalled
        assert NOTE.splitlines()[1] in opened
        assert LOGGED in when
        assert LOGGED in listed
        assert "chronicle:" in amended
    with story.step("capture"):
        assert [*said(story.client).values()] == [[f"user: {ASKED}", f"assistant: {DONE}"]]


def go_on(story):
    """The session goes on, then apart, then with its context compacted."""
    client = story.client
    (first,) = said(client)
    with story.step("resume"):
        with ScriptedModel() as model:
            story.session(model, GOING_ON, *client.going_on)
        assert ASKED in model.asked[0]
        assert [*said(client)] == [first]
        assert said(client)[first][2:] == [f"user: {GOING_ON}", f"assistant: {DONE}"]
    if story.offers("fork"):
        with story.step("fork"):
            flags = [first if flag == "ID" else flag for flag in client.forked]
            with ScriptedModel() as model:
                story.session(model, FORKED, *flags)
            assert GOING_ON in model.asked[0]
            told = said(client)
            assert len(told) == 2
            everything = [line for lines in told.values() for line in lines]
            assert everything.count(f"user: {ASKED}") == everything.count(f"user: {FORKED}") == 1
    is_compacted, is_told = story.offers("compact"), story.offers("told after compact")
    if not is_compacted:
        return
    task, flags = client.compacted
    # In a turn of many tokens a client compacts before it goes on; a command of its does at once.
    script = () if task.startswith("/") else (call("recall", query="tallow"),)
    with story.step("compact"):
        with ScriptedModel(*script, tokens=MANY_TOKENS) as model:
            story.session(model, task, *flags)
        with ScriptedModel() as model:
            story.session(model, AFTERWARDS, *client.going_on)
        assert "Thoughts recorded" not in model.asked[0]
        everything = [line for lines in said(client).values() for line in lines]
        assert everything.count(f"user: {FORKED}") == everything.count(f"user: {AFTERWARDS}") == 1
    if is_told:
        with story.step("told after compact"):
            assert "Said in this session before its context was cut" in model.asked[0]


def die(story):
    """A session is killed in its midst; the next one knows of it."""
    client, started = story.client, []

    def run_it(command, **env):
        started.append(start(command, **env))
        return started[0].communicate()[0]

    def kill(_results):
        os.killpg(started[0].pid, signal.SIGKILL)
        return {"query": "anything"}

    with ScriptedModel(Call("recall", kill)) as model:
        story.session(model, KILLED, talk=run_it)
    with ScriptedModel(call("recall", query="What was under the pier?")) as model:
        story.session(model, AFTERWARDS)
    with story.step("brief"):
        brief = model.asked[0].partition("What Commonplace keeps of the project")[2]
        assert "oil the hinge of the harbour gate" in brief
        assert LOGGED in brief
    with story.step("kill"):
        assert started[0].returncode == -signal.SIGKILL
        assert model.given
    if story.offers("said before a kill"):
        with story.step("said before a kill"):
            assert [f"user: {KILLED}"] in said(client).values()
            assert "quokkarine" in model.given[0] or not client.is_captured


def take_out(story, before):
    """What `setup` put in comes out again; what the client wrote meanwhile stays."""
    with story.step("removal"):
        setup(story.client.name, "--remove")
        after = setup_files(story.client.name)
        differing = {path: after[path] for path in before if after[path] != before[path]}
        # What the client keeps of its own in the file with its servers.
        assert all(b"commonplace mcp" not in text for text in differing.values())
        assert len(differing) <= 1
