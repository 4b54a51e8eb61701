"""`commonplace hook`, as a client runs it: a process that always ends well."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from itertools import cycle, product
from pathlib import Path

import psutil
import pytest
from tests.doors.hooks.hook_process import COMMAND, brief_of, in_time, run_hook, start_hook
from tests.doors.hooks.transcripts import kept_ids, write_transcript
from tests.doors.terminal import facts, run
from tests.patience import PATIENCE_S, until
from tests.repositories import make_repository

from commonplace.doors.hooks.client_messages import EVENTS
from commonplace.doors.hooks.hook import DEADLINE_S, answer
from commonplace.verbs.brief.service import NOT_MADE

HEAVY = (
    "click",
    "dataclasses",
    "msgspec",
    "pathlib",
    "hashlib",
    "logging",
    "numpy",
    "mcp",
    "subprocess",
)
"""What costs a hook's process more than all of its work."""

ACTS = ("open", "os.exec", "os.fork", "os.posix_spawn", "os.system", "subprocess.Popen")
"""What a file is opened with, or a process begun, as Python's audit events name it."""


def log_lines():
    path = Path.home() / ".local" / "share" / "commonplace" / "hooks.log"
    return path.read_text().splitlines() if path.exists() else []


def test_it_says_nothing_where_there_is_nothing():
    """At most an empty JSON object, for the clients that insist on one; of a new project a line."""
    sent = json.dumps({"session_id": "s-1", "cwd": str(Path.cwd())}).encode()
    clients = ["claude-code", "codex", "gemini", "cursor", "copilot"]
    assert NOT_MADE in brief_of(run_hook("session-start"))
    assert run("brief").exit_code == 0
    for event, client in product(EVENTS, clients):
        assert answer(event, client, sent, os.environ) in {"", "{}\n"}, (event, client)
    for event, client in zip(EVENTS, cycle(clients), strict=False):
        assert run_hook(event, client=client) in {"", "{}\n"}, (event, client)
    assert log_lines() == []
    assert not (Path.home() / ".local" / "share" / "chronicle").exists()


def test_a_session_starts_with_what_was_done_in_its_project():
    """The brief in the form of Claude Code, which is Codex's and Gemini's too; the others' have one field."""
    ref = facts("log", "painted the harbour light")["ref"]
    said = brief_of(run_hook("session-start", source="startup"))
    assert f"painted the harbour light [{ref}]" in said
    assert said.startswith("<commonplace-brief>")
    assert said.endswith("</commonplace-brief>")
    for client in ("codex", "gemini"):
        assert brief_of(run_hook("session-start", client=client)) == said
    assert json.loads(run_hook("session-start", client="cursor")) == {"additional_context": said}
    assert json.loads(run_hook("session-start", client="copilot")) == {"additionalContext": said}
    assert run("brief").output.rstrip("\n") == said


def test_a_sub_agent_starts_with_three_lines():
    """What stands before what was done; of a project without a brief nothing, nor other clients'."""
    assert run_hook("subagent-start", agent_type="Explore") == ""
    for number in range(3):
        facts("log", f"painted light {number}")
    chosen = facts("log", "green paint", "--tag", "decision")["ref"]
    facts("private", "write", "--user-context", "Prefers tea.", "--project-notes", "TODO: a bell")
    out = run_hook("subagent-start", agent_type="Explore", agent_id="a1")
    assert json.loads(out)["hookSpecificOutput"]["hookEventName"] == "SubagentStart"
    lines = [line for line in brief_of(out).splitlines() if line.startswith("- ")]
    assert [x[19:].partition(" [")[0] for x in lines] == [
        "TODO: a bell",
        "green paint",
        "Prefers tea.",
    ]
    assert f"[{chosen}]" in lines[1]
    assert run_hook("subagent-start", client="codex") == "{}\n"


def test_a_session_that_changes_its_project_is_given_the_other_brief(tmp_path, monkeypatch):
    """Once, with its next prompt; not for a folder of the same project, nor once it came back."""
    here, other = str(Path.cwd()), tmp_path / "other"
    make_repository(Path.cwd())
    for folder in (other, Path.cwd() / "docs"):
        folder.mkdir()
    monkeypatch.chdir(other)
    facts("log", "greased the winch")
    monkeypatch.chdir(here)
    facts("log", "painted the light")

    def moved(before, after):
        said = {"old_cwd": str(before), "new_cwd": str(after), "transcript_path": "/none.jsonl"}
        assert run_hook("cwd-changed", **said) == ""

    def told(folder, session="s-1"):
        return brief_of(run_hook("prompt", prompt="Go on.", cwd=folder, session_id=session))

    moved(here, f"{here}/docs")
    assert told(here) == ""
    moved(here, other)
    assert told(other, session="s-2") == ""
    assert "greased the winch" in told(other)
    assert told(other) == ""
    moved(other, here)
    moved(here, other)
    assert told(other) == ""
    moved(other, here)
    assert "painted the light" in told(here)
    assert log_lines() == []
    assert not (Path.home() / ".local" / "share" / "commonplace" / "moved").exists()


ODD = {
    "nothing": b"",
    "half": b"{",
    "a list": b"[]",
    "null": b"null",
    "no utf-8": b"\xff\xfe",
    "other types": b'{"cwd":5,"session_id":[]}',
    "deep": b"[" * 100_000,
}


def test_whatever_a_client_sends_it_ends_with_0():
    """It then works in its own working folder."""
    facts("log", "painted the harbour light")
    for name, sent in ODD.items():
        out = in_time(lambda sent=sent: start_hook("session-start", sent=sent))
        assert "harbour light" in brief_of(out), name


@pytest.mark.parametrize("event", ["no-such-event", ""])
def test_an_unknown_event_is_a_line_in_the_log(event):
    """A plugin may be newer than the program; exit code 2 would block Claude Code."""
    assert run_hook(event) == ""
    assert [line.partition("hook: ")[2] for line in log_lines()] == [f"unknown event {event!r}"]


def test_a_broken_setting_is_a_line_in_the_log(monkeypatch):
    """The user's work goes on without a brief; the line holds no value."""
    facts("log", "painted the harbour light")
    monkeypatch.setenv("COMMONPLACE_BRIEF_TOKENS", "many")
    assert run_hook("session-start") == ""
    (line,) = log_lines()
    assert "session-start claude-code: ValueError at quick.py:" in line
    assert "many" not in line


def test_a_client_that_never_ends_stdin_is_answered(tmp_path):
    """A whole JSON object is enough."""
    facts("log", "painted the harbour light")
    reading, writing = os.pipe()
    with open(reading, "rb") as stdin, open(writing, "wb") as client:

        def start():
            client.write(json.dumps({"cwd": str(Path.cwd())}).encode())
            client.flush()
            return subprocess.Popen(
                [*COMMAND, "session-start"], stdin=stdin, stdout=subprocess.PIPE
            )

        assert "harbour light" in brief_of(in_time(start))


SOON = "from commonplace.doors.hooks import hook; hook.DEADLINE_S = 0.3; hook.serve(['stop'])"


def test_it_cannot_hang():
    """Where nothing comes at all it ends with 0 at its deadline; the subject is that bound.

    So does one that the machine gave no time until its deadline was past by more than a second.
    """
    began = time.monotonic()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        subprocess.Popen([*COMMAND, "stop"], **pipes) as process,
        subprocess.Popen([sys.executable, "-P", "-c", SOON], stdin=subprocess.PIPE) as stopped,
    ):
        until(lambda: psutil.Process(stopped.pid).num_threads() > 1, "the clock of the deadline")
        stopped.send_signal(signal.SIGSTOP)
        assert process.wait(PATIENCE_S) == 0
        assert time.monotonic() - began >= DEADLINE_S
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
        stopped.send_signal(signal.SIGCONT)
        assert stopped.wait(PATIENCE_S) == 0


def test_it_imports_next_to_nothing():
    """What it does not import it does not wait for: each event, with a session to copy."""
    sent = {"cwd": str(Path.cwd()), "transcript_path": str(write_transcript("s-1", 4))}
    facts("log", "painted the harbour light")
    facts("private", "write", "--project-notes", "The light is green.", "--user-context", "Tea.")
    script = (
        "import sys, os\n"
        "from commonplace.doors.hooks import hook\n"
        f"sent = {json.dumps(sent).encode()!r}\n"
        "for event in hook.EVENTS: hook.answer(event, 'claude-code', sent, os.environ)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", f"import sys; sys.path[:0] = {sys.path[:]!r}\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
    assert len(kept_ids("s-1")) == 4


def test_it_opens_what_it_reads_and_starts_nothing():
    """Each event: of the client's files its transcript alone, to read; no index, no process."""
    sent = {"cwd": str(Path.cwd()), "transcript_path": str(write_transcript("s-1", 4))}
    facts("log", "painted the harbour light")
    facts("recall", "harbour")
    client = Path(sent["transcript_path"]).parents[2]
    (client / "settings.json").write_text("{}")
    script = (
        "import sys, os\n"
        "from commonplace.doors.hooks import hook\n"
        f"sent = {json.dumps(sent).encode()!r}\n"
        "seen = []\n"
        f"sys.addaudithook(lambda event, args: seen.append((event, args)) if event in {ACTS} else 0)\n"
        "for event in hook.EVENTS: hook.answer(event, 'claude-code', sent, os.environ)\n"
        "print([[event, *map(str, args)] for event, args in seen])\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )
    seen = ast.literal_eval(done.stdout)
    opened = [(path, mode, int(flags)) for event, path, mode, flags in seen if event == "open"]
    assert len(opened) > 5
    assert [act for act in seen if act[0] != "open"] == []
    assert [path for path, *_ in opened if "/index/" in path] == []
    of_client = {(path, flags & 3) for path, _, flags in opened if path.startswith(str(client))}
    assert of_client == {(sent["transcript_path"], os.O_RDONLY)}
    assert len(kept_ids("s-1")) == 4


def test_no_journal_is_made_or_changed_by_a_start():
    """A session that starts leaves the disk as it is."""
    facts("log", "painted the harbour light")
    facts("private", "write", "--user-context", "Prefers tea.")

    def files():
        return {
            str(x): (x.stat().st_size, x.stat().st_mtime_ns)
            for x in Path.home().parent.rglob("*")
            if x.is_file() and not x.name.endswith(("-shm", "-wal"))
        }

    before = files()
    assert run_hook("session-start") != ""
    assert files() == before


def test_its_help_is_the_command_line_s():
    """A person who asks is answered as by any command."""
    assert "Serve a hook of a client" in run("hook", "--help").output
    assert os.environ.get("COMMONPLACE_HOME") is None
