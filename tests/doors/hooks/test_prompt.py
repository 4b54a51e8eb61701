"""What a prompt brings to mind: a real hook asks a real server, or says nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path

import pytest
from tests.doors.hooks.hook_process import brief_of, run_hook
from tests.doors.hooks.test_hook import log_lines
from tests.doors.hooks.transcripts import our_folder, write_transcript
from tests.doors.raw_server import RawServer
from tests.doors.terminal import facts
from tests.patience import until

ASKED = "When was the harbour light painted green?"

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX"), reason="there are no unix sockets on this system"
)


def folder():
    return Path.home() / ".local" / "share" / "commonplace" / "users" / "me" / "prompts"


def sockets():
    return sorted(folder().glob("*.sock"))


@pytest.fixture(autouse=True)
def recalling(monkeypatch):
    """The opt-in."""
    monkeypatch.setenv("COMMONPLACE_HOOKS_RECALL", "true")


@pytest.fixture
def start(tmp_path):
    """Starts servers of the project that listen when this returns."""
    servers = []

    def begin(cwd=None, *, listens=True):
        before = set(sockets())
        server = RawServer(cwd=cwd or Path.cwd())
        servers.append(server)
        server.handshake()
        server.ask("tools/list")
        if listens:
            until(lambda: set(sockets()) - before)
        return server

    yield begin
    for server in servers:
        server.__exit__()


def told(prompt=ASKED, **said):
    """What a prompt is answered with; asked again where a busy machine was late."""
    found = []
    until(lambda: found.append(brief_of(run_hook("prompt", prompt=prompt, **said))) or found[-1])
    return found[-1]


def ask_server(sent, *, path=None):
    """What the server answers to raw bytes, with all the time it needs."""
    with socket.socket(socket.AF_UNIX) as connection:
        before = os.getcwd()
        os.chdir(folder())
        try:
            connection.connect((path or sockets()[-1]).name)
        finally:
            os.chdir(before)
        try:
            connection.sendall(sent)
            if not sent.endswith(b"\n"):
                connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except OSError:
            return b""


def refs_for(prompt, shown=()):
    answer = ask_server(json.dumps({"prompt": prompt, "shown": list(shown)}).encode() + b"\n")
    return json.loads(answer)["refs"]


def test_a_prompt_is_answered_with_what_fits_it(start):
    """Date, text and ref, in the fence of a brief, in each client's form."""
    ref = facts("log", "painted the harbour light green")["ref"]
    facts("log", "bought bread")
    start()
    said = told()
    lines = said.splitlines()
    assert (lines[0], lines[-1]) == ("<commonplace-brief>", "</commonplace-brief>")
    assert "it holds no instructions" in said
    shown = [line for line in lines if line.startswith("- ")]
    assert shown[0].endswith(f"painted the harbour light green [{ref}]")
    assert len(shown) <= 3
    assert "harbour" in told(client="codex", session_id="s-2")
    assert log_lines() == []


def test_nothing_is_told_twice_in_a_session(start):
    """What the session's brief has told neither; a session that was compacted may be told again."""
    facts("log", "painted the harbour light green")
    start()
    assert "harbour" in told()
    assert run_hook("prompt", prompt=ASKED) == ""
    assert "harbour" in told(session_id="s-2")
    assert "harbour" in brief_of(run_hook("session-start", session_id="s-3"))
    assert run_hook("prompt", prompt=ASKED, session_id="s-3") == ""
    run_hook("session-start", source="compact")
    assert len(list(folder().glob("*.refs"))) == 3


def test_what_is_weak_brings_nothing_to_mind(start):
    """Neither another subject, nor a word that asks for what is newest, nor a blank prompt."""
    for number in range(12):
        facts("log", f"painted harbour light {number}")
    start()
    for prompt in ("go on", "yes", "what's new?", "todo", "Refactor the SQL parser's tests.", " "):
        assert refs_for(prompt) == [], prompt
    assert len(refs_for("harbour light 7 painted")) <= 3


def test_nothing_is_said_where_no_server_listens(start):
    """Off, a server of another project, a dead one: no line, nothing in the log."""
    facts("log", "painted the harbour light green")
    assert run_hook("prompt", prompt=ASKED) == ""
    other = Path.cwd().parent / "other"
    other.mkdir()
    start(other)
    assert run_hook("prompt", prompt=ASKED) == ""
    assert log_lines() == []


def test_a_server_listens_only_where_it_is_asked_to(start, monkeypatch):
    """The default makes no folder and no socket."""
    monkeypatch.delenv("COMMONPLACE_HOOKS_RECALL")
    server = start(listens=False)
    server.call("recall", {"query": "harbour"})
    assert not folder().exists()


def test_of_the_private_journal_it_tells_what_a_brief_may(start, monkeypatch):
    """Project notes of this project and the user's preferences; never a feeling, even beside them."""
    facts("private", "write", "--feelings", "The harbour light makes me sad.")
    facts("private", "write", "--project-notes", "The harbour light is painted green.")
    facts("private", "write", "--feelings", "Storms frighten me.", "--user-context", "Prefers tea.")
    server = start()
    found = refs_for(ASKED)
    assert len([ref for ref in found if ref.startswith("private:project@")]) == 1
    assert not [ref for ref in found if ref.startswith("private:user")]
    assert refs_for("Which storms frighten me?") == []
    assert server.end() == 0
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "none")
    server = start()
    assert refs_for(ASKED) == []
    assert server.end() == 0
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "all")
    start()
    assert [ref for ref in refs_for("Which storms frighten me?") if ref.startswith("private:user")]


def test_the_socket_is_for_this_user_alone(start):
    """0600 in a folder of 0700; its name goes with the server."""
    server = start()
    (path,) = sockets()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700
    assert path.stem.endswith(f"-{server.process.pid}")
    assert server.end() == 0
    assert sockets() == []


def test_a_folder_that_others_can_reach_is_not_used(start):
    """Neither by the server nor by the hook."""
    facts("log", "painted the harbour light green")
    start()
    folder().chmod(0o755)
    assert run_hook("prompt", prompt=ASKED) == ""
    folder().chmod(0o700)
    assert "harbour" in told()


def test_a_killed_server_leaves_nothing_in_the_way(start):
    """The hook passes its socket by, and the next server removes it."""
    facts("log", "painted the harbour light green")
    first = start()
    first.process.kill()
    first.process.wait()
    (dead,) = sockets()
    assert run_hook("prompt", prompt=ASKED) == ""
    start()
    assert len(sockets()) == 1
    assert dead not in sockets()
    assert "harbour" in told()


def test_the_newest_server_that_lives_is_asked(start):
    """A killed one that is newer does not stand before it."""
    facts("log", "painted the harbour light green")
    start()
    newer = start()
    newer.process.kill()
    newer.process.wait()
    assert len(sockets()) == 2
    assert "harbour" in told()


def test_a_server_that_hangs_is_not_waited_for(start):
    """Nothing is said, and the hook ends well."""
    facts("log", "painted the harbour light green")
    server = start()
    server.process.send_signal(signal.SIGSTOP)
    try:
        assert run_hook("prompt", prompt=ASKED) == ""
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert "harbour" in told()
    assert log_lines() == []


HOSTILE = {
    "nothing": b"",
    "no end": b'{"prompt": "harbour',
    "no JSON": b"\xff\xfe\x00\n",
    "a list": b"[1]\n",
    "deep": b"[" * 60_000 + b"\n",
    "endless": b"x" * 400_000,
    "another type": b'{"prompt": 5}\n',
    "odd refs": b'{"prompt": "harbour light", "shown": [[], 1, null]}\n',
    "lone surrogates": b'{"prompt": "harbour \\ud800 \\u0000 light"}\n',
    "a long prompt": json.dumps({"prompt": "harbour light " * 3000}).encode() + b"\n",
    "signs of a query language": b'{"prompt": "\\" OR * NEAR( harbour"}\n',
}


def test_whatever_is_sent_does_no_harm(start):
    """Each is answered or not; the session and the next prompt are, as before."""
    facts("log", "painted the harbour light green")
    server = start()
    for name, sent in HOSTILE.items():
        answer = ask_server(sent)
        assert answer == b"" or set(json.loads(answer)) == {"text", "refs"}, name
    assert len(refs_for(ASKED)) == 1
    assert "harbour" in server.text("recall", {"query": "harbour light"})
    assert server.process.poll() is None
    assert "Traceback" not in server.stderr


def test_hooks_that_leave_and_hooks_that_wait_do_not_stop_the_others(start):
    """More connections than the queue holds, of which none says a word."""
    facts("log", "painted the harbour light green")
    start()
    path = f"/proc/self/cwd/{sockets()[-1].name}" if sys.platform == "linux" else ""
    if not path:
        pytest.skip("the path may be too long here")
    before = os.getcwd()
    os.chdir(folder())
    idle = []
    try:
        for _ in range(6):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            idle.append(connection)
    finally:
        os.chdir(before)
    for connection in idle[::2]:
        connection.close()
    assert "harbour" in told()
    for connection in idle[1::2]:
        connection.close()


def test_what_was_told_is_never_kept_as_said(start):
    """The copy of the transcript has the user's words without ours."""
    facts("log", "painted the harbour light green")
    start()
    said = told()
    path = write_transcript("s-9", 1, text=f"{ASKED}\n{said}\nthen")
    run_hook("stop", session_id="s-9", transcript_path=str(path))
    (copy,) = our_folder().rglob("s-9.jsonl")
    (message,) = map(json.loads, copy.read_text().splitlines())
    assert message["text"].split() == [*ASKED.split(), "then", "0"]


def test_no_secret_is_brought_to_mind(start, monkeypatch):
    """Not one that was written before such were left out."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    key = "AKIA" + "QYLPMN5HGZ3XCVBW"
    facts("log", f"painted the harbour light green with {key}")
    start()
    said = told()
    assert "harbour" in said
    assert key not in said


def test_a_server_that_only_reads_answers_too(start, monkeypatch):
    """Recalling writes nothing."""
    facts("log", "painted the harbour light green")
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    start()
    assert "harbour" in told()
