"""Claude Code's lines become what was said, and nothing else."""

from __future__ import annotations

import os

import pytest
from tests.journals.transcripts.originals import claude_line, clock, write_lines

from commonplace.journals.transcripts.clients.claude_code import (
    begin,
    messages,
    originals,
    originals_in,
)
from commonplace.journals.transcripts.clients.parsing import (
    OF_SUB_AGENT,
    UNKNOWN,
    Kept,
    Skipped,
    unknown,
    without_words,
)

CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "env"}}
ANSWER = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "TOKEN=secret"}
OURS = {"type": "tool_use", "id": "toolu_2", "name": "mcp__commonplace__recall", "input": {}}
OUR_ANSWER = {"type": "tool_result", "tool_use_id": "toolu_2", "content": "You fixed it."}


def said(*lines, tools="names", subagents=False, path="/p/s1.jsonl"):
    kept = Kept(tools=tools, subagents=subagents)
    return [*messages(lines, begin(path, lines[0], kept))]


def test_user_and_assistant_are_kept_with_where_and_when():
    """Id, parent, time, folder and branch are the client's own."""
    [asked, answered] = said(
        claude_line("Fix the parser.", own="a", second=1),
        claude_line("Done.", role="assistant", own="b", second=2, parentUuid="a"),
    )
    assert asked == (
        "a",
        "user",
        clock(1),
        "Fix the parser.",
        "",
        "/home/ann/shop",
        "main",
        (),
        False,
        0,
        "",
    )
    assert (answered.role, answered.text, answered.parent) == ("assistant", "Done.", "a")


def test_thinking_is_never_kept():
    """Whatever the setting."""
    thought = [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": "x"}]
    assert said(claude_line("", role="assistant", content=thought), tools="all") == []


def test_of_tools_the_names_are_kept():
    """What went in and what came out stays where it is, unless it is asked for."""
    call, answer = (
        claude_line("", role="assistant", content=[CALL], own="a"),
        claude_line("", content=[ANSWER], own="b", toolUseResult={"stdout": "TOKEN=secret"}),
    )
    assert [(x.text, x.tools) for x in said(call, answer)] == [("", ("Bash",))]
    assert said(call, answer, tools="none") == []
    every = said(call, answer, tools="all")
    assert [(x.id, x.role, x.text) for x in every[1:]] == [
        ("a:toolu_1", "tool", '{"command": "env"}'),
        ("b:toolu_1", "tool", "TOKEN=secret"),
    ]


def test_what_our_own_tools_answer_is_never_kept():
    """Only that they were called."""
    lines = claude_line("", role="assistant", content=[OURS]), claude_line("", content=[OUR_ANSWER])
    assert [(x.text, x.tools) for x in said(*lines, tools="all")] == [
        ("", ("mcp__commonplace__recall",))
    ]
    assert said(lines[1], tools="all") == []


def queued(text, *, second=0, **more):
    """What was typed while the model worked, as the versions up to 2.1.246 note it."""
    put = {"type": "queued_command", "prompt": text, "commandMode": "prompt", **more}
    return claude_line("", second=second, attachment=put) | {"type": "attachment", "message": {}}


def operation(name, text=None, *, second=0, **more):
    """The same as later versions do: an operation on the queue, which has no id."""
    line = {"type": "queue-operation", "operation": name, "timestamp": clock(second), **more}
    return line if text is None else {**line, "content": text}


def absorbed(text, *, second=0):
    return operation("remove", text, second=second, reason="absorbed_mid_turn")


BOTH = (queued("Not the walrus!", second=3), absorbed("Not the walrus!", second=4))


@pytest.mark.parametrize("noted", [BOTH[:1], BOTH[1:], BOTH, BOTH[::-1]])
def test_what_is_typed_while_the_assistant_works_is_kept_once(noted):
    """Wherever the client notes it, in an attachment, in its queue or in both; so in a fork."""
    before = claude_line("Build.", own="a"), claude_line("So.", role="assistant", own="b")
    lines = *before, operation("enqueue", "Not the walrus!"), *noted
    ids = {x.id for x in said(*lines)[2:]}
    assert [x.text for x in said(*lines)[2:]] == ["Not the walrus!"] * len(noted)
    assert ids == {x.id for x in said(*before, *BOTH)[2:]}
    assert len(ids) == 1
    later = said(*lines, claude_line("Yes.", role="assistant"), absorbed("Not the walrus!"))
    assert len({x.id for x in later if x.text == "Not the walrus!"}) == 2


def test_of_the_queue_only_what_was_typed_and_given_at_once_is_kept():
    """The rest is a line of the user's later, was taken back, or nobody typed it."""
    notice = "<task-notification>done</task-notification>"
    lines = (
        operation("enqueue", "Then test."),
        operation("dequeue"),
        claude_line("Then test.", own="a"),
        operation("enqueue", "Never mind."),
        operation("remove", "Never mind."),
        operation("popAll", "Never mind."),
        absorbed(notice),
        queued(notice, commandMode="task-notification"),
        queued("Done.", commandMode="task-notification"),
        queued("From another session.", origin={"kind": "peer"}),
        queued("Go on.", isMeta=True),
        queued({"odd": 1}),
        {"type": "attachment", "attachment": {"type": "hook_success", "content": "x"}},
    )
    assert [x.text for x in said(*lines)] == ["Then test."]


REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). To tell you how to proceed, the"
    " user said:\n"
)


@pytest.mark.parametrize("tools", ["none", "names", "all"])
def test_what_is_typed_on_rejecting_a_tool_is_the_users(tools):
    """Without what the client says around it, and once, whatever is kept of tools."""
    hint = (
        "\n\nNote: The user's next message may contain a correction or preference. Pay attention."
    )
    words = "The fixtures stay.\nOnly the caches go."
    rejected = {**ANSWER, "is_error": True, "content": REJECTED + words + hint}
    silent = {**rejected, "content": "The user doesn't want to proceed with this tool use. STOP"}
    [*_, message] = said(
        claude_line("", role="assistant", content=[CALL], own="a"),
        claude_line("", content=[rejected], own="b"),
        tools=tools,
    )
    assert (message.id, message.role, message.text) == ("b", "user", words)
    assert said(claude_line("", content=[silent]), tools="names") == []
    shown = {**ANSWER, "content": REJECTED + words}
    assert said(claude_line("", content=[shown]), tools="names") == []


def test_answers_to_the_assistants_questions_are_the_users():
    """Each behind its question, with the note that was typed beside it."""
    result = {
        "questions": [{"question": "Which cache?"}, {"question": "Why?"}],
        "answers": {"Which cache?": "pip", "Why?": ["full", "old"], "Odd?": 5},
        "annotations": {"Which cache?": {"notes": "only under var"}},
    }
    block = {"type": "tool_result", "tool_use_id": "q", "content": "User has answered …"}
    line = claude_line("", content=[block], own="b", toolUseResult=result)
    assert [(x.id, x.role, x.text) for x in said(line)] == [
        ("b", "user", "Which cache? pip, only under var\nWhy? full, old")
    ]
    other = claude_line("", role="assistant", content=[{**CALL, "id": "q", "name": "mcp__quiz"}])
    assert [x.text for x in said(other, line)] == [""]


def test_what_nobody_said_is_not_kept():
    """Meta lines, the summary of a compaction, output of commands, notes of the client."""
    assert (
        said(
            claude_line("Caveat", isMeta=True),
            claude_line("This session is being continued …", isCompactSummary=True),
            claude_line("<local-command-stdout>Compacted</local-command-stdout>"),
            {"type": "queue-operation", "operation": "enqueue", "content": "x"},
            {"type": "attachment", "uuid": "a"},
            {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"},
        )
        == []
    )


def test_what_the_client_says_in_the_models_name_is_not_kept():
    """After a compaction, or where the model could not be reached: no model said it."""
    line = claude_line("No response requested.", role="assistant", own="a")
    line["message"]["model"] = "<synthetic>"
    assert said(line, claude_line("Go on.", own="b"))[0].text == "Go on."


def test_sub_agents_are_left_out_or_marked():
    """By the mark of a line, and by the name of the file, of which the last answer is kept."""
    line = claude_line("Look around.", isSidechain=True)
    own = "/p/s1/subagents/agent-a1.jsonl"
    assert said(line) == said(line, path=own) == [OF_SUB_AGENT]
    assert [x.sidechain for x in said(line, subagents=True)] == [True]
    plain = claude_line("Look around.")
    assert [x.sidechain for x in said(plain, subagents=True, path=own)] == [True]
    found = claude_line("Found it.", role="assistant"), claude_line("So be it.", role="assistant")
    *others, last = said(line, *found, path=own)
    assert others == [OF_SUB_AGENT, OF_SUB_AGENT]
    assert (last.text, last.sidechain) == ("So be it.", True)


def test_what_is_given_besides_words_is_counted_by_its_kind():
    """In a message, beside one, and with what is typed during a turn; an attachment of a new kind."""
    picture = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}
    asked = claude_line("", content=[picture, {"type": "text", "text": "What is it?"}])
    puts = [
        {"type": "file", "filename": "/w/a.txt", "content": "A"},
        {"type": "queued_command", "prompt": [picture, {"type": "text", "text": "And this?"}]},
        {"type": "task_reminder", "content": "x"},
        {"type": "hologram"},
    ]
    lines = [claude_line("") | {"type": "attachment", "attachment": put} for put in puts]
    found = said(asked, *lines)
    assert [x for x in found if isinstance(x, Skipped)] == [
        without_words("image"),
        without_words("file"),
        without_words("image"),
        unknown("hologram"),
    ]
    assert [x.text for x in found if not isinstance(x, Skipped)] == ["What is it?", "And this?"]


def test_what_is_not_known_is_counted():
    """A kind of line, a kind of block, and what is no object."""
    block = [{"type": "hologram"}, {"type": "text", "text": "Hello."}]
    lines = {"type": "new-thing"}, claude_line("", content=block), [1, 2], {"type": ["x"]}
    found = said(*lines)
    named = [unknown("new-thing"), unknown("hologram")]
    assert [x for x in found if isinstance(x, Skipped)] == [*named, UNKNOWN, UNKNOWN]
    assert [x.text for x in found if not isinstance(x, Skipped)] == ["Hello."]
    assert {unknown(x) for x in (None, "two\nlines", "x" * 41, "")} == {UNKNOWN}


def test_lines_of_any_shape_raise_nothing():
    """Each field may be anything."""
    odd = [None, 1e999, [], {}, "x", True, {"type": "queued_command", "prompt": [{}, 1]}]
    for value in odd:
        for line in (queued("Hello."), absorbed("Hello.")):
            for name in line:
                said({**line, name: value})
        said(queued(value), absorbed(value), queued("x", origin=value, commandMode=value))
        answered = {"type": "tool_result", "content": value, "is_error": True}
        result = {"questions": [], "answers": value, "annotations": value}
        said(claude_line("", content=[answered], toolUseResult=result))
        line = claude_line("Hello.")
        for name in line:
            if name != "type":
                said({**line, name: value}, tools="all")
        said(claude_line("", content=[value]), claude_line("", content=[{"type": value}]))
        said({**CALL, "type": "user", "message": {"content": [{**CALL, "id": value}]}}, tools="all")


def test_a_line_without_a_time_has_that_of_the_line_before():
    """It is kept all the same."""
    first, second = claude_line("one", second=5), claude_line("two", timestamp="soon")
    assert [x.at for x in said(first, second)] == [clock(5), clock(5)]


def test_a_line_without_an_id_is_kept_once():
    """Its id is made of its time and its words: the same in a copy, another at another time."""
    nameless = [claude_line("Go on.", second=n, uuid=None) for n in (1, 2)]
    ids = [x.id for x in said(*nameless, {**nameless[0], "sessionId": "s2"})]
    assert (len(ids), len({*ids})) == (3, 2)


def test_the_files_of_this_machine_are_found(tmp_path):
    """Of a session, and of its sub-agents; elsewhere where the client was told so."""
    folder = tmp_path / "projects" / "-home-ann-shop"
    own = write_lines(folder / "s1.jsonl", claude_line("a"))
    agent = write_lines(folder / "s1" / "subagents" / "agent-a1.jsonl", claude_line("b"))
    (folder / "memory").mkdir()
    (folder / "memory" / "notes.md").write_text("not a transcript")
    assert sorted(originals("/nowhere", {"CLAUDE_CONFIG_DIR": str(tmp_path)})) == sorted(
        [(own, "s1"), (agent, "s1")]
    )
    assert [*originals("/nowhere", {})] == []


def test_an_agents_file_beside_the_sessions_names_its_session_inside(tmp_path):
    """So earlier versions kept them."""
    path = write_lines(tmp_path / "agent-a1.jsonl", claude_line("a", sessionId="s9"))
    assert begin(path, claude_line("a", sessionId="s9"), Kept()).session == "s9"
    assert [*originals_in(str(tmp_path))] == [(path, "agent-a1")]


def test_a_fork_comes_after_what_it_repeats(tmp_path):
    """Whatever the names: the file that was last written to is the last."""
    for number, name in enumerate(("z", "m", "a")):
        path = write_lines(tmp_path / f"{name}.jsonl", claude_line("a"))
        os.utime(path, (1_700_000_000 + number,) * 2)
    assert [session for _, session in originals_in(str(tmp_path))] == ["z", "m", "a"]
