"""The pages of sessions: by day, and one as a conversation."""

from __future__ import annotations

import pytest
from tests.doors.web.web_world import words_of
from tests.journals.transcripts.sessions import said

SESSION = "transcripts:claude-code/5e0c-1"


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
    """Says how to bring it in."""
    assert "No sessions are kept yet." in words_of(browser.get("/transcripts"))


def test_sessions_by_day(kept):
    """With client, project and how each began; narrowed by project."""
    browser = kept.browser()
    words = words_of(browser.get("/transcripts"))
    assert "claude-code harbour 2 messages" in words
    assert "Rename the login form." in words
    one = words_of(browser.get("/transcripts", params={"project": "/srv/web/app"}))
    assert "harbour" not in one


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
