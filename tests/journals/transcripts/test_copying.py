"""What is new of an original is copied once, whatever the original is like."""

from __future__ import annotations

import json
import os
import threading

import pytest
from tests.journals.transcripts.originals import (
    add_lines,
    claude_line,
    clock,
    codex_message,
    codex_meta,
    write_lines,
)
from tests.peak_memory import peak_memory

from commonplace.core.plain_files import open_regular
from commonplace.journals.transcripts.clients import json_lines
from commonplace.journals.transcripts.clients.claude_code import originals_in
from commonplace.journals.transcripts.copying import Kept, copy_new
from commonplace.journals.transcripts.store import TranscriptStore


@pytest.fixture
def store(tmp_path):
    made = TranscriptStore(str(tmp_path / "transcripts"))
    yield made
    made.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "projects" / "-p" / "s1.jsonl"


def copied(store, path, client="claude-code", **more):
    done = copy_new(store, client, str(path), kept=Kept(), **more)
    counts = [
        sum(n for x, n in done.left_out.items() if x.why == why) for why in ("unknown", "broken")
    ]
    return done.copied, *counts


def texts(store, session="s1", client="claude-code"):
    return [x.text for x in store.read(client, session)]


def test_only_what_is_new_is_read(store, path):
    """A second copy begins where the first ended."""
    write_lines(path, claude_line("one"), claude_line("two", role="assistant"))
    assert copied(store, path) == (2, 0, 0)
    assert copied(store, path) == (0, 0, 0)
    add_lines(path, claude_line("three"))
    done = copy_new(store, "claude-code", str(path), kept=Kept())
    assert (done.session, done.copied, done.offset) == ("s1", 1, path.stat().st_size)
    assert texts(store) == ["one", "two", "three"]


def test_resumed_and_forked_sessions_repeat_nothing(store, path):
    """A message that another session has kept is not kept again; the new session has the rest."""
    first, second = claude_line("one"), claude_line("two")
    write_lines(path, first, second)
    fork = path.with_name("s2.jsonl")
    write_lines(
        fork, *({**line, "sessionId": "s2"} for line in (first, second)), claude_line("three")
    )
    assert [copied(store, path)[0], copied(store, fork)[0]] == [2, 1]
    assert texts(store, "s2") == ["three"]


@pytest.mark.parametrize("answer", ["Yes.", "Yes. " * 100_000])
def test_what_was_typed_during_a_turn_is_kept_once_wherever_a_copy_began(store, path, answer):
    """Between what it came after and each of its two notes, and from the start again."""
    noted = {"type": "queued_command", "prompt": "Not that."}
    for line in (
        claude_line("Build."),
        claude_line(answer, role="assistant"),
        claude_line("", content=[{"type": "tool_result", "content": answer}]),
        {"type": "queue-operation", "operation": "remove", "reason": "absorbed_mid_turn"}
        | {"content": "Not that.", "timestamp": clock(9)},
        claude_line("") | {"type": "attachment", "attachment": noted},
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        add_lines(path, line)
        copied(store, path)
    fork = path.with_name("s2.jsonl")
    fork.write_bytes(path.read_bytes())
    assert copied(store, fork)[0] == 0
    assert texts(store) == ["Build.", answer.strip(), "Not that."]


def test_a_forked_rollout_repeats_nothing(store, tmp_path):
    """Codex writes the times of copied messages anew, and keeps their ids."""
    name = "rollout-2026-11-22T10-00-00-00000000-0000-4000-8000-{:012}.jsonl".format
    ids = [f"msg_01a20852-5232-7400-8f2a-4dc59233{n:04}" for n in range(3)]
    one = codex_message("one", own=ids[0], second=1)
    own = write_lines(tmp_path / name(1), codex_meta("c1"), one)
    again = codex_message("one", own=ids[0], second=50)
    fork = write_lines(
        tmp_path / name(2), codex_meta("c2"), again, codex_message("two", own=ids[1], second=51)
    )
    assert [copied(store, x, "codex")[0] for x in (own, fork)] == [1, 1]
    assert texts(store, "c2", "codex") == ["two"]


def test_the_line_that_is_being_written_waits(store, path):
    """It is copied once its line break is there."""
    write_lines(path, claude_line("one"))
    whole = json.dumps(claude_line("two")).encode()
    with path.open("ab") as file:
        file.write(whole[:40])
    assert copied(store, path) == (1, 0, 0)
    with path.open("ab") as file:
        file.write(whole[40:] + b"\n")
    assert copied(store, path) == (1, 0, 0)
    assert texts(store) == ["one", "two"]


def test_a_file_that_grows_while_it_is_read_is_copied_to_its_end(store, path):
    """Another writer appends while copies go on; in the end all is there, once, in order."""
    write_lines(path, claude_line("0"))

    def write():
        for number in range(1, 400):
            add_lines(path, claude_line(str(number)))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        copied(store, path)
    writer.join()
    copied(store, path)
    assert texts(store) == [str(number) for number in range(400)]


@pytest.mark.parametrize("change", ["shorter", "another", "replaced"])
def test_a_file_that_became_another_is_read_from_its_beginning(store, path, change):
    """One that was cut, or begins in another way; what was kept before is not lost."""
    lines = [claude_line(text) for text in ("one", "two", "three")]
    write_lines(path, *lines)
    copied(store, path)
    new = claude_line("four")
    if change == "shorter":
        write_lines(path, lines[0], new)
    elif change == "another":
        write_lines(path, new, *lines)
    else:
        write_lines(path, *(claude_line(f"{n} {'x' * 2000}") for n in range(5)), new)
    assert copied(store, path)[0] == (6 if change == "replaced" else 1)
    assert texts(store)[-1] == "four"
    assert texts(store)[:3] == ["one", "two", "three"]


def test_broken_lines_are_skipped_and_counted(store, path):
    """No JSON, broken UTF-8, nested beyond measure, a number of 5,000 digits."""
    write_lines(path, claude_line("one"))
    with path.open("ab") as file:
        file.write(b'{"type": "user", "mess\n')
        file.write(b'{"type": "user", "x": "\xff\xfe"}\n')
        file.write(b"[" * 200_000 + b"\n")
        file.write(b'{"n": ' + b"9" * 5000 + b"}\n")
        file.write(b"\n  \n\x00\x00\x00\n")
    add_lines(path, claude_line("two"))
    assert copied(store, path) == (2, 0, 5)
    assert texts(store) == ["one", "two"]


def test_a_line_of_a_hundred_megabytes_is_skipped_in_little_memory(store, path):
    """It counts as broken; what stands behind it is read."""
    write_lines(path, claude_line("one"))
    with path.open("ab") as file:
        file.write(b'{"type":"user","x":"')
        for _ in range(100):
            file.write(b"x" * 1024 * 1024)
        file.write(b'"}\n')
    add_lines(path, claude_line("two"))
    with peak_memory() as most:
        assert copied(store, path) == (2, 0, 1)
    assert most() < 80 * 1024 * 1024
    assert texts(store) == ["one", "two"]


def test_a_long_line_is_as_whole_as_a_short_one(store, path):
    """Up to the bound, across the pieces in which a file is read."""
    text = "ä" * (2 * 1024 * 1024)
    write_lines(path, claude_line("one"), claude_line(text), claude_line("three"))
    assert copied(store, path) == (3, 0, 0)
    assert texts(store) == ["one", text, "three"]


def test_a_nul_and_half_a_surrogate_pair_do_no_harm(store, path):
    """A NUL is text; half a pair becomes the sign for what is not known."""
    write_lines(
        path, claude_line("a\x00b"), claude_line("c\ud800d", cwd="/x\x00", gitBranch="\ud800")
    )
    assert copied(store, path) == (2, 0, 0)
    assert texts(store) == ["a\x00b", "c\ufffdd"]


def test_ids_that_stand_twice_are_kept_once(store, path):
    """In one file as well."""
    write_lines(path, claude_line("one", own="a"), claude_line("one again", own="a"))
    assert copied(store, path) == (1, 0, 0)
    assert texts(store) == ["one"]


def test_times_that_go_back_or_make_no_sense_keep_the_order_of_the_file(store, path):
    """The order of a session is that in which it was written down."""
    times = [clock(50), clock(1), "0001-01-01T00:00:00.000Z", "2026-02-31T10:00:00.000Z", 1e300]
    write_lines(path, *(claude_line(str(n), timestamp=at) for n, at in enumerate(times)))
    assert copied(store, path) == (5, 0, 0)
    found = store.read("claude-code", "s1")
    assert [x.text for x in found] == ["0", "1", "2", "3", "4"]
    assert [x.at for x in found] == [clock(50), *[clock(1)] * 4]


def test_a_pipe_or_a_folder_is_not_waited_for(store, tmp_path):
    """It is refused at once."""
    os.mkfifo(tmp_path / "s1.jsonl")
    (tmp_path / "s2.jsonl").mkdir()
    for name in ("s1.jsonl", "s2.jsonl", "s3.jsonl"):
        with pytest.raises(OSError):
            copied(store, tmp_path / name)
    assert [*originals_in(str(tmp_path))] == []


def test_a_link_is_followed_inside_the_clients_folder_only(tmp_path):
    """A file that a link leads out to is not taken; nor is a folder, which might be a circle."""
    folder, outside = tmp_path / "projects", tmp_path / "outside"
    write_lines(outside / "secret.jsonl", claude_line("secret"))
    own = write_lines(folder / "-p" / "s1.jsonl", claude_line("one"))
    (folder / "-p" / "s2.jsonl").symlink_to(outside / "secret.jsonl")
    (folder / "-q").symlink_to(outside)
    (folder / "-p" / "round").symlink_to(folder)
    (folder / "-p" / "s3.jsonl").symlink_to(own)
    (folder / "-p" / "s4.jsonl").symlink_to("nowhere")
    found = [os.path.basename(path) for path, _ in originals_in(str(folder))]
    assert found == ["s1.jsonl", "s3.jsonl"]
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    assert len([*originals_in(str(linked))]) == 2


def test_a_copy_that_is_limited_goes_on_the_next_time(store, path):
    """Each takes at least a line, so that it gets to the end."""
    write_lines(path, *(claude_line(str(n)) for n in range(50)))
    rounds = 0
    while copied(store, path, limit_bytes=1000)[0]:
        rounds += 1
    assert 5 < rounds < 50
    assert texts(store) == [str(n) for n in range(50)]


def test_the_original_is_not_touched(store, path):
    """Neither its content nor its times, and it may be one that cannot be written."""
    write_lines(path, claude_line("one"))
    path.chmod(0o400)
    before = path.stat()
    copied(store, path)
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_mode) == (
        after.st_mtime_ns,
        after.st_size,
        after.st_mode,
    )


def test_secrets_of_tools_never_reach_our_files(store, path, tmp_path):
    """Neither what went in, nor what came out, under the usual settings."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo SECRET"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "SECRET"}
    write_lines(
        path,
        claude_line("", role="assistant", content=[call]),
        claude_line("", content=[answer], toolUseResult={"stdout": "SECRET"}),
        claude_line("", role="assistant", content=[{"type": "thinking", "thinking": "SECRET"}]),
    )
    copied(store, path)
    store.close()
    files = [x for x in (tmp_path / "transcripts").rglob("*") if x.is_file()]
    assert files
    assert not any(b"SECRET" in x.read_bytes() for x in files)


def test_a_name_that_is_not_utf8_is_copied_and_found_again(store, tmp_path):
    """How far it is copied is kept under a name that text can hold."""
    path = os.fsencode(tmp_path) + b"/s\xff.jsonl"
    line = json.dumps(claude_line("one")).encode() + b"\n"
    with open(path, "wb") as file:
        file.write(line)
    named = os.fsdecode(path)
    assert [copied(store, named), copied(store, named)] == [(1, 0, 0), (0, 0, 0)]


class Dribbling:
    """A file that gives at most so many bytes at once, as a read may."""

    def __init__(self, file, most):
        self.seek = file.seek
        self._file = file
        self._most = most

    def read(self, size):
        return self._file.read(min(size, self._most))


def test_lines_end_where_the_next_begins(tmp_path):
    """Whatever the size of the pieces."""
    values = [{"n": n, "text": "x" * (n * 7)} for n in range(30)]
    path = write_lines(tmp_path / "lines", *values)
    ends = []
    for most in (1, 2, 7, 64, 1000, 10**6):
        with open_regular(path) as whole:
            file = Dribbling(whole, most)
            found = [*json_lines.json_lines(file)]
            assert [value for value, _ in found] == values
            ends.append([at for _, at in found])
            middle = found[14][1]
            assert [value for value, _ in json_lines.json_lines(file, start=middle)] == values[15:]
    assert all(each == ends[0] for each in ends)
    assert ends[0][-1] == os.path.getsize(path)
