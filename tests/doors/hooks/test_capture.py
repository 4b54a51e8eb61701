"""What hooks copy of a session: all of it, once, whoever is killed and whatever vanishes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.doors.hooks.hook_process import brief_of, run_hook, start_hook
from tests.doors.hooks.transcripts import (
    claude_line,
    ids_of,
    kept_ids,
    our_folder,
    spooled,
    whole_lines,
    write_transcript,
)
from tests.doors.terminal import facts, run, serving
from tests.patience import until

from commonplace.config.settings import user_file
from commonplace.journals.transcripts.clients.parsing import Kept
from commonplace.journals.transcripts.copy_queue import FOLLOWED_S, CopyQueue, Queued, copy_queued
from commonplace.journals.transcripts.store import TranscriptStore


def catch_up(now=None):
    store = TranscriptStore(str(our_folder()))
    try:
        return copy_queued(store, kept=Kept(), now=now or time.time())
    finally:
        store.close()


@pytest.mark.parametrize("event", ["stop", "pre-compact", "session-end"])
def test_what_was_said_is_copied(event):
    """What is there now, then what came since; the original is left as it is."""
    path = write_transcript("s-1", 3)
    run_hook(event, transcript_path=str(path))
    assert kept_ids("s-1") == ids_of("s-1", 3)
    write_transcript("s-1", 2, first=3)
    content = path.read_bytes()
    run_hook(event, transcript_path=str(path))
    assert kept_ids("s-1") == ids_of("s-1", 5)
    assert path.read_bytes() == content
    assert oct(our_folder().stat().st_mode)[-3:] == "700"
    assert {oct(x.stat().st_mode)[-3:] for x in our_folder().rglob("*.jsonl")} == {"600"}


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_these_copy_nothing(event):
    """A session that starts is only noted; a prompt not even that."""
    path = write_transcript("s-1", 3)
    run_hook(event, transcript_path=str(path))
    assert kept_ids("s-1") == []
    assert spooled() == ([str(path)] if event == "session-start" else [])


def test_a_session_whose_brief_fails_is_followed_all_the_same(monkeypatch):
    """A file stands where its brief's refs are noted: the log says so, the session is in the queue."""
    monkeypatch.setenv("COMMONPLACE_HOOKS_RECALL", "true")
    path = write_transcript("s-1", 3)
    (our_folder().parent / "prompts").parent.mkdir(parents=True, exist_ok=True)
    (our_folder().parent / "prompts").write_text("no folder")
    run_hook("session-start", transcript_path=str(path))
    assert spooled() == [str(path)]


@pytest.mark.parametrize("wrong", ["toolsets = 5", "[brief]\ntokens = 'many'", "preload = [[1]]"])
def test_a_wrong_setting_of_something_else_keeps_nothing_from_being_copied(wrong):
    """The command line says what is wrong with it."""
    user_file().parent.mkdir(parents=True)
    user_file().write_text(wrong)
    run_hook("stop", transcript_path=str(write_transcript("s-1", 3)))
    assert kept_ids("s-1") == ids_of("s-1", 3)
    assert run("status").exit_code == 2


def test_it_can_be_switched_off(monkeypatch):
    """Then nothing is made, and nothing noted."""
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_CAPTURE", "false")
    run_hook("stop", transcript_path=str(write_transcript("s-1", 3)))
    assert not our_folder().exists()


def test_under_the_name_of_a_served_user_nothing_is_copied(monkeypatch, no_weights):
    """What the machine's user says would stand among that user's sessions."""
    with serving("ann"):
        monkeypatch.setenv("COMMONPLACE_OWNER", "ann")
        for event in ("session-start", "stop"):
            out = run_hook(event, transcript_path=str(write_transcript("s-1", 3)))
            assert brief_of(out) == ""
    assert not [*our_folder().parent.parent.rglob("*.jsonl")]
    assert (
        "hook: stop claude-code: ValueError" in (our_folder().parents[2] / "hooks.log").read_text()
    )


@pytest.mark.parametrize("client", ["cursor", "copilot", "no-such-client"])
def test_a_client_whose_transcripts_are_not_known_is_left_alone(client):
    """Nothing is guessed."""
    run_hook("stop", client=client, transcript_path=str(write_transcript("s-1", 3)))
    assert not our_folder().exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "relative.jsonl", "", "/dev/zero", "/tmp"])
def test_a_path_that_is_no_transcript_is_not_read(path):
    """Whatever a client says."""
    run_hook("stop", transcript_path=path)
    assert not our_folder().exists()


@pytest.mark.parametrize("event", ["stop", "session-start"])
def test_a_transcript_that_lies_in_another_folder_is_found(event):
    """In a worktree Claude Code names one that it never makes, first before the file is there."""
    path = write_transcript("s-1", 0)
    elsewhere = path.parents[1] / "-project--claude-worktrees-b" / path.name
    path.unlink()
    run_hook("session-start", transcript_path=str(elsewhere))
    write_transcript("s-2", 2)
    write_transcript("s-1", 3)
    run_hook(event, transcript_path=str(elsewhere))
    catch_up()
    assert kept_ids("s-1") == ids_of("s-1", 3)
    assert kept_ids("s-2") == []


@pytest.mark.parametrize("count", [4, 3000])
def test_of_a_sub_agent_the_last_message_is_kept(count):
    """Once it ends, as its session's; a long one's by what comes next. Nothing of its start."""
    session = write_transcript("s-1", 2)
    path = session.parent / "s-1" / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        claude_line("agent", n, f"wind {n} " * 20, role="assistant" if n % 2 else "user")
        for n in range(count)
    ]
    path.write_text("\n".join(lines) + "\n")
    said = {"transcript_path": str(session), "agent_transcript_path": str(path)}
    run_hook("subagent-start", **said)
    assert kept_ids("s-1") == []
    run_hook("subagent-stop", **said)
    catch_up()
    run_hook("stop", **said)
    catch_up()
    assert kept_ids("s-1") == [f"agent-{count - 1}", *ids_of("s-1", 2)]
    (copy,) = our_folder().glob("claude-code/*/s-1.jsonl")
    assert json.loads(copy.read_text().splitlines()[0])["sidechain"] is True


def test_a_long_session_is_copied_bit_by_bit_and_the_rest_by_who_comes_next():
    """One event takes no more than it has time for; the queue has the session until all is copied."""
    path = write_transcript("s-1", 3000, text="wind " * 100)
    run_hook("stop", transcript_path=str(path))
    before = len(kept_ids("s-1"))
    assert 0 < before < 3000
    assert catch_up() == 3000 - before
    assert kept_ids("s-1") == ids_of("s-1", 3000)


def test_what_a_hook_leaves_out_is_counted(no_weights):
    """Each line once, however often a hook runs, and by its kind."""
    path = write_transcript("s-1", 1)
    for name in ("hologram", "hologram", "ansible"):
        with path.open("a") as file:
            file.write(json.dumps({"type": name}) + "\n")
        for _ in range(2):
            run_hook("stop", transcript_path=str(path))
    left_out = facts("status")["sessions"]["left_out"]
    assert [(x["client"], x["kind"], x["count"]) for x in left_out] == [
        ("claude-code", "hologram", 2),
        ("claude-code", "ansible", 1),
    ]


def test_a_vanished_transcript_loses_nothing_that_was_copied():
    """It is followed for a day, then forgotten."""
    path = write_transcript("s-1", 3)
    run_hook("stop", transcript_path=str(path))
    path.unlink()
    run_hook("stop", transcript_path=str(path))
    assert catch_up() == 0
    assert kept_ids("s-1") == ids_of("s-1", 3)
    assert spooled() == [str(path)]
    assert catch_up(time.time() + FOLLOWED_S + 1) == 0
    assert spooled() == []


def test_two_sessions_at_once_are_both_whole():
    """Several hooks of each run at the same time: nothing is lost, nothing stands twice."""
    paths = {name: write_transcript(name, 400) for name in ("s-1", "s-2")}
    running = [
        start_hook("stop", sent={"session_id": name, "transcript_path": str(path), "cwd": "/"})
        for _ in range(3)
        for name, path in paths.items()
    ]
    for process in running:
        out, err = process.communicate()
        assert (process.returncode, out, err) == (0, b"", b"")
    catch_up()
    for name in paths:
        assert kept_ids(name) == ids_of(name, 400)


def noted():
    return bool(spooled())


def written():
    return any(x.stat().st_size for x in our_folder().glob("claude-code/*/*.jsonl"))


def catalogued():
    return (our_folder() / "catalog.db").exists()


@pytest.mark.parametrize("is_so", [lambda: True, noted, catalogued, written])
def test_a_hook_that_is_killed_loses_nothing_and_doubles_nothing(is_so, counted):
    """Wherever SIGKILL strikes it: at once, once it noted the session, while it copies."""
    count = 0
    for _ in range(6):
        path = write_transcript("s-1", 200, first=count, text="wind " * 50)
        count += 200
        process = start_hook(
            "stop", sent={"session_id": "s-1", "transcript_path": str(path), "cwd": "/"}
        )
        until(
            lambda process=process: is_so() or process.poll() is not None, "the moment to kill it"
        )
        process.kill()
        process.communicate()
        ids = whole_lines("s-1")
        assert ids == ids_of("s-1", len(ids))
    run_hook("stop", transcript_path=str(path))
    catch_up()
    assert kept_ids("s-1") == ids_of("s-1", count)
    counted("a hook, killed as it copies a session", 6)


def test_a_session_that_was_killed_before_it_paused_is_copied_by_who_comes_next():
    """No hook but the one of its start was ever called."""
    path = write_transcript("s-1", 0)
    run_hook("session-start", transcript_path=str(path))
    assert catch_up() == 0
    write_transcript("s-1", 5)
    assert catch_up() == 5
    assert kept_ids("s-1") == ids_of("s-1", 5)


def test_a_hook_tells_of_other_sessions_what_a_look_at_all_of_them_tells(no_weights):
    """It reads its own session alone, and those that went on since elsewhere."""
    for count in (1, 3):
        for number in range(1, 8):
            path = write_transcript(f"s-{number}", count, first=count * 10 + number * 4)
            run_hook("stop", session_id=f"s-{number}", transcript_path=str(path))
            if number == 2:  # a process that ended before it told of what it copied
                write_transcript("s-1", 2, first=count * 10 + 54)
                catch_up()
    by_hooks = brief_of(run_hook("session-start", session_id="s-9"))
    assert run("brief").exit_code == 0
    assert by_hooks == brief_of(run_hook("session-start", session_id="s-9"))
    assert by_hooks.count("session of") == 7


def test_the_next_session_knows_what_the_last_one_was_about():
    """How it began, what was asked and answered last; not the session itself."""
    path = write_transcript("s-1", 5, text="caulk the hull")
    run_hook("session-end", transcript_path=str(path))
    said = brief_of(run_hook("session-start", session_id="s-2", source="startup"))
    assert (
        "session of 5 messages, began with: caulk the hull 0 | asked last: caulk the hull 4"
        " | answered last: caulk the hull 3 [transcripts:claude-code/s-1]"
    ) in said
    assert brief_of(run_hook("session-start", session_id="s-1", source="resume")) == ""


@pytest.mark.parametrize(("source", "session"), [("compact", "s-1"), ("clear", "s-9")])
def test_after_a_cut_it_says_what_was_lost_sight_of(source, session):
    """What the session began with, what was asked last and answered; a cleared one has another id."""
    path = write_transcript("s-1", 30, text="caulk the hull")
    run_hook("pre-compact", transcript_path=str(path))
    said = brief_of(run_hook("session-start", session_id=session, source=source))
    lost = said.partition("before its context was cut:\n")[2].partition("\n\n")[0]
    lost = lost.partition("\n</")[0].splitlines()
    assert [line.partition(" user: ")[2].partition(" [")[0] for line in lost[:-1]] == [
        f"caulk the hull {number}" for number in (0, 18, 20, 22, 24, 26, 28)
    ]
    assert "assistant: caulk the hull 29 [transcripts:claude-code/s-1#30]" in lost[-1]


def test_a_session_of_another_project_is_not_said(tmp_path):
    """Its folder begins with the same letters."""
    run_hook("stop", transcript_path=str(write_transcript("s-1", 3)))
    other = tmp_path / "proj"
    other.mkdir()
    assert "caulk" not in brief_of(run_hook("session-start", session_id="s-2", cwd=other))


def test_the_spool_keeps_what_was_added_while_it_was_emptied():
    """An addition in the middle of it, a broken line and a line that is not to be forgotten."""
    our_folder().mkdir(parents=True)
    spool = CopyQueue(str(our_folder()))
    for name in ("a", "b", "a"):
        spool.add(Queued("codex", f"/{name}.jsonl", name, 1.0))
    with (our_folder() / "spool.jsonl").open("a") as file:
        file.write('{"client": "codex", "path"\n')
    seen = []

    def copy(spooled):
        seen.append(spooled.path)
        spool.add(Queued("codex", "/late.jsonl", "late", 2.0))
        assert spool.empty(copy) == 0  # another one is at it
        return spooled.path != "/b.jsonl"

    assert spool.empty(copy) == 2
    assert sorted(seen) == ["/a.jsonl", "/b.jsonl"]
    assert spooled() == ["/b.jsonl", "/late.jsonl", "/late.jsonl"]


def test_what_we_said_ourselves_is_not_captured():
    """The brief that a session began with comes back in its transcript, and is cut out."""
    path = write_transcript("s-1", 2, text="caulk the hull")
    run_hook("session-end", transcript_path=str(path))
    said = brief_of(run_hook("session-start", session_id="s-2"))
    line = {
        "type": "user",
        "uuid": "x",
        "sessionId": "s-2",
        "timestamp": "2026-11-22T11:00:00.000Z",
        "message": {"role": "user", "content": f"{said}\nGood morning."},
    }
    other = path.with_name("s-2.jsonl")
    other.write_text(json.dumps(line) + "\n")
    run_hook("stop", session_id="s-2", transcript_path=str(other))
    (copy,) = our_folder().glob("claude-code/*/s-2.jsonl")
    assert json.loads(copy.read_text())["text"].strip() == "Good morning."
    assert os.path.isdir(Path.home())


@pytest.mark.parametrize(
    "field",
    [
        '"at": "yesterday"',
        '"at": null',
        f'"at": {"1" * 400}',
        '"path": "/a\\u0000b.jsonl"',
        '"path": "/a\\ud800.jsonl"',
        '"path": 5',
        '"client": []',
    ],
)
def test_junk_in_the_spool_is_dropped_and_the_rest_copied(field):
    """Whatever a line says: a command that looks at transcripts does not fail for it."""
    path = write_transcript("s-1", 3)
    run_hook("session-start", transcript_path=str(path))
    plain = '"client": "claude-code", "path": "/none.jsonl", "session": "s", "at": 1.0'
    with (our_folder() / "spool.jsonl").open("a") as file:
        file.write(f"{{{plain}, {field}}}\n")
    assert catch_up() == 3
    assert spooled() == [str(path)]


def test_a_folder_that_no_system_can_name_counts_for_nothing():
    """The session is noted all the same."""
    path = write_transcript("s-1", 3)
    said = {"transcript_path": str(path), "cwd": "/half/\ud800", "session_id": "s-1"}
    process = start_hook("session-start", sent=json.dumps(said).encode())
    process.communicate()
    assert (process.returncode, spooled()) == (0, [str(path)])
