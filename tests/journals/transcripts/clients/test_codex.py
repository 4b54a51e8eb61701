"""Codex's rollouts become what was said, and nothing else."""

from __future__ import annotations

from tests.journals.transcripts.originals import (
    clock,
    codex_item,
    codex_message,
    codex_meta,
    write_lines,
)

from commonplace.journals.transcripts.clients.codex import begin, messages, originals
from commonplace.journals.transcripts.clients.parsing import (
    OF_SUB_AGENT,
    UNKNOWN,
    Kept,
    unknown,
    without_words,
)

NAME = "rollout-2026-11-22T10-00-00-01a20852-5196-7f92-ab6a-1cd17f0107a9.jsonl"
CALL = {"type": "function_call", "name": "shell", "arguments": '{"command":"env"}', "call_id": "c1"}
ANSWER = {"type": "function_call_output", "call_id": "c1", "output": "TOKEN=secret"}


def said(*lines, meta=None, tools="names", subagents=False):
    first = meta or codex_meta()
    return [*messages([first, *lines], begin(NAME, first, Kept(tools=tools, subagents=subagents)))]


def test_user_and_assistant_are_kept_with_where_and_when():
    """The folder and the branch stand in the first line."""
    own = "msg_01a20852-5232-7400-8f2a-4dc592332e18"
    [asked, answered] = said(
        codex_message("Fix it.", own=own, second=1),
        codex_message("Done.", role="assistant", second=2),
    )
    assert asked == (
        own,
        "user",
        clock(1),
        "Fix it.",
        "",
        "/home/ann/shop",
        "main",
        (),
        False,
        0,
        "",
    )
    assert (answered.role, answered.text) == ("assistant", "Done.")


def test_a_turn_may_go_to_another_folder():
    """What is said from then on was said there."""
    moved = codex_item({"cwd": "/elsewhere"}, kind="turn_context")
    assert [x.cwd for x in said(codex_message("a"), moved, codex_message("b", second=2))] == [
        "/home/ann/shop",
        "/elsewhere",
    ]


def test_what_codex_added_is_not_the_users():
    """By its kind where Codex says it, else by its form; the developer's words are not the user's."""
    kinds = {"content_item_kinds": ["agents_md.instructions", "user.text"]}
    marked = codex_message("Be brief.", "Fix it.", internal_chat_message_metadata_passthrough=kinds)
    formed = codex_message(
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
        second=2,
    )
    developer = codex_message("<permissions instructions>…", role="developer", second=3)
    assert [x.text for x in said(marked, formed, developer)] == ["Fix it."]


def test_what_an_event_repeats_is_kept_once():
    """The events tell what the items say; neither they nor notes are of an unknown kind."""
    event = codex_item({"type": "user_message", "message": "Fix it."}, kind="event_msg")
    note = codex_item({"state": {}}, kind="world_state")
    assert [x.text for x in said(codex_message("Fix it."), event, note)] == ["Fix it."]


def test_of_tools_the_names_are_kept():
    """What went in and what came out stays where it is, unless it is asked for."""
    lines = codex_item(CALL, second=1), codex_item(ANSWER, second=2)
    assert [(x.role, x.text, x.tools) for x in said(*lines)] == [("assistant", "", ("shell",))]
    assert said(*lines, tools="none") == []
    assert [(x.role, x.text) for x in said(*lines, tools="all")] == [
        ("tool", '{"command":"env"}'),
        ("tool", "TOKEN=secret"),
    ]


def test_what_our_own_tools_answer_is_never_kept():
    """Codex names the server beside the tool; an answer whose call was not seen may be ours."""
    call = {**CALL, "name": "recall", "namespace": "mcp__commonplace"}
    lines = codex_item(call), codex_item(ANSWER, second=2)
    found = said(*lines, tools="all")
    assert [(x.text, x.tools) for x in found] == [("", ("mcp__commonplace__recall",))]
    assert said(lines[1], tools="all") == []


def test_reasoning_is_never_kept():
    """Whatever the setting."""
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    assert said(codex_item(thought), tools="all") == []


def test_ids_that_are_not_unique_are_made_from_time_and_text():
    """Early versions gave none, and some providers count; a copy of the session has the same."""
    one = said(codex_message("go on", own="msg_1", second=1))[0].id
    assert one == said(codex_message("go on", own="msg_1", second=1), meta=codex_meta("s2"))[0].id
    others = [
        said(codex_message("go on", own="msg_1", second=2))[0].id,
        said(codex_message("go on", second=1))[0].id,
        said(codex_message("stop", own="msg_1", second=1))[0].id,
    ]
    assert len({one, *others}) == 4


def test_sub_agents_are_left_out_or_marked():
    """The first line says whose session it is."""
    for meta in (
        codex_meta(source={"subagent": {"thread_spawn": {"depth": 1}}}),
        codex_meta(thread_source="subagent"),
    ):
        assert said(codex_message("Look."), meta=meta) == [OF_SUB_AGENT]
        assert [x.sidechain for x in said(codex_message("Look."), meta=meta, subagents=True)] == [
            True
        ]


def test_what_is_given_besides_words_is_counted_by_its_kind():
    """The words beside it are kept; a part of a new kind is counted as such."""
    asked = codex_message("What is it?")
    asked["payload"]["content"] += [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "hologram"},
    ]
    *others, message = said(asked)
    assert others == [without_words("image"), unknown("hologram")]
    assert message.text == "What is it?"


def test_the_first_versions_are_read():
    """They had no frame around an item."""
    meta = {"id": "s1", "timestamp": clock(0), "instructions": None}
    item = codex_message("Fix it.")["payload"]
    found = said({**item, "timestamp": clock(1)}, {"record_type": "state"}, meta=meta)
    assert [x.text for x in found] == ["Fix it."]


def test_what_is_not_known_is_counted_and_raises_nothing():
    """A kind of line, a kind of item, and what is no object."""
    lines = [codex_item({}, kind="new"), codex_item({"type": "new"}), 7, {"type": {}}, None]
    assert said(*lines) == [unknown("new")] * 2 + [UNKNOWN] * 3
    for value in [None, 1e999, [], {}, "x", True]:
        for name in ("content", "role", "id", "type", "call_id", "name", "output", "arguments"):
            for item in (codex_message("a")["payload"], CALL, ANSWER):
                said(codex_item(CALL), codex_item({**item, name: value}), tools="all")


def test_the_files_of_this_machine_are_found(tmp_path):
    """Those in the archive too; the session is named by the file."""
    folder = tmp_path / "sessions" / "2026" / "11" / "22"
    own = write_lines(folder / NAME, codex_meta())
    old = write_lines(tmp_path / "archived_sessions" / "rollout-old.jsonl", codex_meta())
    write_lines(tmp_path / "history.jsonl", {"text": "x"})
    assert [*originals("/nowhere", {"CODEX_HOME": str(tmp_path)})] == [
        (own, "01a20852-5196-7f92-ab6a-1cd17f0107a9"),
        (old, "rollout-old"),
    ]
