"""What nobody typed is recognised, and what somebody typed is kept."""

from __future__ import annotations

import time

from tests.cases import cases

from commonplace.journals.transcripts.typed_text import is_ours, typed, without_ours


@cases(
    "text",
    [
        "<system-reminder>\nThe date changed.\n</system-reminder>",
        "<local-command-stdout>Compacted</local-command-stdout>",
        "<local-command-caveat>Caveat: …</local-command-caveat>",
        (
            "<command-name>/compact</command-name>\n  <command-message>compact</command-message>\n"
            "  <command-args></command-args>"
        ),
        "<bash-stdout>a secret</bash-stdout><bash-stderr></bash-stderr>",
        "<task-notification>\n<task-id>b6</task-id>\n</task-notification>",
        "[Request interrupted by user for tool use]",
        "This session is being continued from a previous conversation that ran out of context. …",
        "<environment_context>\n  <cwd>/home/ann</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /home/ann\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        "# AGENTS.md instructions for /home/ann\n\nBe brief.",
        "<recommended_plugins>\nNone.\n</recommended_plugins>",
        "<user_instructions>\n\nBe brief.\n\n</user_instructions>",
    ],
)
def test_what_a_client_added_is_not_the_users(text):
    """Nothing of it is left."""
    assert typed(text) == ""


@cases(
    ("text", "left"),
    [
        ("Fix it.\n<system-reminder>\nToday is Monday.\n</system-reminder>", "Fix it."),
        ("<system-reminder>a</system-reminder>\nFix\n<system-reminder>b</system-reminder>", "Fix"),
        (
            (
                "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
                "<command-args>the parser</command-args>"
            ),
            "/review the parser",
        ),
        ("<bash-input>git status</bash-input>", "! git status"),
        (  # as Gemini CLI 0.61 writes what a hook of a session's start answered
            "<hook_context>&lt;commonplace-brief&gt;\n…\n&lt;/commonplace-brief&gt;</hook_context>\n\nFix it.",
            "Fix it.",
        ),
        (
            "# AGENTS.md instructions for /x\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>\nFix it.",
            "Fix it.",
        ),
    ],
)
def test_the_users_words_stay_between_what_was_added(text, left):
    """A command with arguments is kept as it was typed."""
    assert typed(text) == left


@cases(
    "text",
    [
        "Why does <skill> not close here?",
        "The tag <system-reminder> is odd.",
        "<system-reminder>\nthis one never ends",
        "a < b and <b>bold</b>",
        "<skill>one</skill> and <skill>two</skill>, which is better",
    ],
)
def test_a_text_about_such_tags_is_kept_whole(text):
    """In doubt nothing is cut."""
    assert typed(text) == text


def test_what_we_put_into_a_session_is_cut_from_anybodys_words():
    """The brief, and an entry in its fence as our tools answer it; other fences stay."""
    brief = '<commonplace-brief at="now">\nYou fixed it.\n</commonplace-brief>'
    entry = "```chronicle:0199\nDeployed.\n```\n```c:7c55e795 2026-11-21 23:19\nDone.\n```\n"
    code = "```python\nprint(1)\n```"
    assert without_ours(f"a {brief}\n{entry}{code}") == f"a \n\n\n{code}"


def test_tools_of_ours_are_known_by_their_names():
    """As Claude Code, Codex and others name them."""
    assert is_ours("mcp__commonplace__recall")
    assert is_ours("mcp__plugin_commonplace_commonplace__recall")
    assert is_ours("mcp_commonplace_recall")
    assert is_ours("commonplace_recall")
    assert is_ours("mcp__plugin_commonplace_commonplace__recall")
    assert is_ours("recall", namespace="mcp__commonplace")
    assert not is_ours("Bash")
    assert not is_ours("recall", namespace="mcp__other")


@cases("opening", ["<system-reminder>\n", "```chronicle:1\n", "<bash-input>"])
def test_a_text_of_openings_alone_takes_no_longer_than_others(opening):
    """A megabyte of what never closes is read in one pass for each kind."""
    text = opening * (1_000_000 // len(opening))
    began = time.process_time()
    assert typed(without_ours(text))
    assert time.process_time() - began < 2
