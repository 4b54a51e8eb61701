"""The pages of sessions: by day, and one as a conversation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.doors.web.web_world import words_of
from tests.journals.transcripts.sessions import said

SESSION = "transcripts:claude-code/5e0c-1"
ROLES = ("user", "assistant", "assistant", "assistant", "user", "user")


@pytest.fixture
def kept(world):
    """Two sessions of May 2026, in two projects."""
    harbour = {"cwd": "/srv/harbour", "branch": "main"}
    world.app.transcripts.store.append(
        "claude-code",
        "5e0c-1",
        [
            said(601, "Why does the build of the reports fail? <script>", **harbour),
            said(602, "The **lock file** is stale.", tools=("Bash", "Read"), **harbour),
        ],
    )
    world.app.transcripts.store.append(
        "codex", "0199-2", [said(3001, "Rename the login form.", cwd="/srv/web/app")]
    )
    return world


def test_nothing_was_said_yet(browser):
    """Says what will stand there, and how to bring it in; there is nothing to narrow."""
    words = words_of(browser.get("/transcripts"))
    assert "will stand here, session by session; the box above" in words
    assert "commonplace import --all" in words
    assert "Project" not in words


def test_sessions_by_day(kept):
    """With client, project and how each began; narrowed by project."""
    browser = kept.browser()
    words = words_of(browser.get("/transcripts"))
    assert "harbour, Claude Code, 2 messages" in words
    assert "Rename the login form." in words
    page = browser.get("/transcripts", params={"project": "/srv/web/app"})
    assert rows_of(page) == ["Rename the login form."]


def rows_of(page):
    """The titles in a list of sessions."""
    return re.findall(r'class="open" href="[^"]*">([^<]*)</a>', page.text)


def options_of(page, name):
    """What can be chosen in a list of the page: what is sent, and what it is called."""
    listed = re.search(rf'<select name="{name}">(.*?)</select>', page.text, re.DOTALL)[1]
    return re.findall(r'<option value="([^"]*)"(?: selected)?>([^<]*)</option>', listed)


def test_what_there_is_can_be_chosen(kept):
    """Projects, with the sessions of folders in them, and clients, each with how many."""
    root = Path.cwd() / "harbour"
    root.mkdir()
    (root / ".chronicle").touch()  # which marks a project
    for n, folder in enumerate(("", "docs")):
        kept.app.transcripts.store.append(
            "codex",
            f"0200-{n}",
            [said(4001 + 2 * n, "Tidy up.", id=f"t{n}", cwd=str(root / folder))],
        )
    browser = kept.browser()
    page = browser.get("/transcripts")
    assert options_of(page, "client") == [
        ("", "all"),
        ("claude-code", "Claude Code (1)"),
        ("codex", "Codex (3)"),
    ]
    assert sorted(options_of(page, "project")) == sorted(
        [
            ("", "all"),
            ("/srv/harbour", "/srv/harbour (1)"),
            (str(root), f"{root} (2)"),
            ("/srv/web/app", "app (1)"),
        ]
    )
    page = browser.get("/transcripts", params={"project": str(root), "client": "codex"})
    assert rows_of(page) == ["Tidy up.", "Tidy up."]
    assert f'<option value="{root}" selected>' in page.text
    page = browser.get("/transcripts", params={"project": "/gone", "client": "nobody"})
    assert "No session is like that." in words_of(page)
    assert "<option selected>/gone</option>" in page.text


def test_a_session_is_called_by_its_task(kept):
    """In the list and above the conversation; what was only polite is not."""
    turns = [said(5001, "hi"), said(5002, "Hello!"), said(5003, "Hi, why is the **gate** open?")]
    kept.app.transcripts.store.append("codex", "0201", turns)
    browser = kept.browser()
    assert "why is the gate open?" in rows_of(browser.get("/transcripts"))
    page = browser.get("/transcripts/session", params={"ref": "transcripts:codex/0201"})
    assert "<h1>why is the gate open?</h1>" in page.text


def test_who_speaks_is_named_once_for_a_run_of_turns(kept):
    """And each turn keeps its time and the way to it."""
    turns = [said(7001 + n, f"Words {n}.", role=who) for n, who in enumerate(ROLES)]
    kept.app.transcripts.store.append("claude-code", "5e0c-7", turns)
    ref = "transcripts:claude-code/5e0c-7"
    page = kept.browser().get("/transcripts/session", params={"ref": ref})
    authors = re.findall(r'class="author">([^<]*)<', page.text)
    assert authors == ["You", "Claude Code", "You"]
    links = re.findall(r'class="at" href="([^"]*)"><time datetime="2026-05-05T', page.text)
    assert links == [f"/entry?ref={quote(f'{ref}#{n}', safe='')}" for n in range(1, 7)]


def test_a_session_is_a_conversation(kept):
    """Who said what, and which tools were used; markup of a model is words."""
    page = kept.browser().get("/transcripts/session", params={"ref": SESSION})
    assert "<strong>lock file</strong>" in page.text
    assert "used Bash, Read" in words_of(page)
    assert "&lt;script&gt;" in page.text


@pytest.mark.parametrize("ref", ["", "nope", "transcripts:", "transcripts:claude-code/x#9", "\0"])
def test_sessions_that_are_not_there(kept, ref):
    """Say so."""
    answer = kept.browser().get("/transcripts/session", params={"ref": ref})
    assert answer.status_code in {400, 404}


def original(*lines):
    """The client's own file of the session."""
    folder = Path.home() / ".claude" / "projects" / "-srv-harbour"
    folder.mkdir(parents=True, exist_ok=True)
    written = [x if isinstance(x, str) else json.dumps(x) for x in lines]
    (folder / "5e0c-1.jsonl").write_text("\n".join(written))


def block(role, *blocks):
    """A line of a message."""
    return {"type": role, "timestamp": "2026-05-01T10:00:00Z", "message": {"content": [*blocks]}}


def test_what_a_session_was_given(kept):
    """What hooks put in, and calls of our tools with their answers; no other tool's."""
    put = {"hookEvent": "SessionStart", "content": ["<commonplace-brief>the brief <b></b>"]}
    ours = {"id": "1", "name": "mcp__commonplace__recall", "input": {"query": "harbour"}}
    other = {"id": "2", "name": "Bash", "input": {"command": "ls"}}
    token = "ghp_" + "a1B2" * 9
    original(
        {"type": "attachment", "attachment": {"type": "hook_additional_context", **put}},
        {"type": "attachment", "attachment": {"type": "hook_success", **put}},
        {"type": "attachment", "attachment": {"type": "todo", "content": "commonplace left out"}},
        block("assistant", {"type": "tool_use", **ours}, {"type": "tool_use", **other}),
        block("user", {"type": "tool_result", "tool_use_id": "2", "content": "not of ours"}),
        block(
            "user",
            {
                "type": "tool_result",
                "tool_use_id": "1",
                "content": [{"type": "text", "text": f"found <script>x</script> {token}"}],
            },
        ),
        '{"torn commonplace',
        "[" * 100_000 + "commonplace",
    )
    browser = kept.browser()
    page = browser.get("/transcripts/session", params={"ref": SESSION})
    assert f'href="/transcripts/inputs?ref={quote(SESSION, safe="")}"' in page.text
    page = browser.get("/transcripts/inputs", params={"ref": SESSION})
    words = words_of(page)
    assert "Hooks added 1 text; the assistant recalled 1." in words
    assert "Added at SessionStart" in words
    assert "&lt;commonplace-brief&gt;the brief &lt;b&gt;" in page.text
    assert "Recalled by mcp__commonplace__recall 1 May" in words
    assert "harbour" in words
    assert "found &lt;script&gt;x" in page.text
    assert token not in page.text
    assert "not of ours" not in words
    assert "left out" not in words


def test_a_session_whose_file_is_gone(kept):
    """Says so; of another client's nothing is known."""
    browser = kept.browser()
    page = browser.get("/transcripts/inputs", params={"ref": SESSION})
    assert "no longer keeps a file of this session" in words_of(page)
    other = browser.get("/transcripts/inputs", params={"ref": "transcripts:codex/0199-2"})
    assert other.status_code == 404
    for ref in ("", "x", "transcripts:claude-code/nope", "transcripts:claude-code/../x"):
        assert browser.get("/transcripts/inputs", params={"ref": ref}).status_code in {400, 404}
