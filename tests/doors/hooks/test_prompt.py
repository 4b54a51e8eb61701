"""What a prompt brings to mind: a real hook asks a real server, or says nothing.

One server is asked by all that only ask it; its journals hold a few entries from the start.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.doors.hooks.hook_process import brief_of, run_hook
from tests.doors.hooks.test_hook import log_lines
from tests.doors.hooks.transcripts import our_folder, write_transcript
from tests.doors.raw_server import RawServer
from tests.doors.terminal import facts
from tests.patience import until
from tests.verbs.recall_world import RecallWorld

from commonplace.core.files import make_folder

ASKED = "When was the harbour light painted green?"
KEY = "AKIA" + "QYLPMN5HGZ3XCVBW"

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX"), reason="there are no unix sockets on this system"
)


def folder():
    return Path.home() / ".local" / "share" / "commonplace" / "users" / "me" / "prompts"


def sockets():
    return sorted(folder().glob("*.sock"))


@pytest.fixture(autouse=True)
def recalling(monkeypatch, known_weights):
    """The opt-in."""
    monkeypatch.setenv("COMMONPLACE_HOOKS_RECALL", "true")


class Listening:
    """A server of the project that listens, in a home with entries.

    Args:
        server: The server.
        ref: Of the entry on the harbour light.
        enter: Has a test stand in its home.
    """

    def __init__(self, server, ref, enter):
        self.server = server
        self.ref = ref
        self.enter = enter


@pytest.fixture(scope="module")
def shared(shared_world, known_hashes):
    """The server that the tests of this module share."""
    del shared_world.env["COMMONPLACE_ENCODER_FOLDER"]
    models = shared_world.home / ".local" / "share" / "commonplace" / "models"
    make_folder(models)
    shutil.copy2(known_hashes, models)
    shared_world.env["COMMONPLACE_HOOKS_RECALL"] = "true"
    with pytest.MonkeyPatch.context() as here:
        shared_world.enter(here)
        facts("private", "write", "--feelings", "The harbour light makes me sad.")
        facts("private", "write", "--project-notes", "The compressor needs a copper gasket.")
        storms = ("--feelings", "Storms frighten me.", "--user-context", "Prefers tea.")
        facts("private", "write", *storms)
        facts("log", "varnished the tiller of the dinghy")  # too long ago for a short brief
        for number in range(12):
            facts("log", f"greased winch {number} of the slipway")
        here.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
        facts("log", f"painted the boathouse door blue with {KEY}")
        facts("log", "bought bread")
        ref = facts("log", "painted the harbour light green")["ref"]
        server = begin(shared_world.project)
    with server:
        yield Listening(server, ref, shared_world.enter)


@pytest.fixture
def listening(shared, monkeypatch):
    """The shared server, with the test in its home."""
    shared.enter(monkeypatch)
    return shared


def begin(cwd=None):
    """A server of the project, which listens now."""
    before = set(sockets())
    server = RawServer(cwd=cwd or Path.cwd())
    server.handshake()
    server.ask("tools/list")
    until(lambda: set(sockets()) - before, "the server to listen to prompts")
    return server


@pytest.fixture
def start():
    """Starts servers of the project that listen when this returns."""
    servers = []

    def start_(cwd=None):
        servers.append(begin(cwd))
        return servers[-1]

    yield start_
    for server in servers:
        server.__exit__()


def told(prompt=ASKED, **said):
    """What a prompt is answered with; asked again where a busy machine was late."""
    found = []
    until(
        lambda: found.append(brief_of(run_hook("prompt", prompt=prompt, **said))) or found[-1],
        "an answer to the prompt",
    )
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


def test_a_prompt_is_answered_with_what_fits_it(listening):
    """Date, text and ref, in the fence of a brief, in each client's form."""
    said = told()
    lines = said.splitlines()
    assert (lines[0], lines[-1]) == ("<commonplace-brief>", "</commonplace-brief>")
    assert "it holds no instructions" in said
    shown = [line for line in lines if line.startswith("- ")]
    assert shown[0].endswith(f"painted the harbour light green [{listening.ref}]")
    assert len(shown) <= 3
    assert "harbour" in told(client="codex", session_id="codex-1")
    assert log_lines() == []


def test_nothing_is_told_twice_in_a_session(listening, monkeypatch):
    """What the session's brief has told neither; a session that was compacted may be told again."""
    monkeypatch.setenv("COMMONPLACE_BRIEF_TOKENS", "500")
    before = set(folder().glob("*.refs"))
    older = {"prompt": "When was the dinghy's tiller varnished?", "session_id": "twice-1"}
    assert "tiller" in told(**older)
    assert run_hook("prompt", **older) == ""
    assert "tiller" in told(older["prompt"], session_id="twice-2")
    brief = brief_of(run_hook("session-start", session_id="twice-3"))
    assert "harbour" in brief
    assert "tiller" not in brief
    assert run_hook("prompt", prompt=ASKED, session_id="twice-3") == ""
    run_hook("session-start", source="compact", session_id="twice-1")
    assert "tiller" in told(**older)
    assert len(set(folder().glob("*.refs")) - before) == 3


def test_what_is_weak_brings_nothing_to_mind(listening):
    """Neither another subject, nor a word that asks for what is newest, nor a blank prompt."""
    for prompt in ("go on", "yes", "what's new?", "todo", "Refactor the SQL parser's tests.", " "):
        assert refs_for(prompt) == [], prompt
    assert 1 <= len(refs_for("greased winch 7 of the slipway")) <= 3


def test_of_the_private_journal_it_tells_what_a_brief_may(listening):
    """Project notes of this project and the user's preferences; never a feeling, even beside them."""
    found = refs_for("Which gasket does the compressor need?")
    assert len([ref for ref in found if ref.startswith("private:project@")]) == 1
    for prompt in (ASKED, "Which storms frighten me?"):
        assert not [ref for ref in refs_for(prompt) if ref.startswith("private:user")]


@pytest.mark.parametrize(
    ("let", "kinds"),
    [
        ("none", []),
        ("notes", ["private:project"]),
        ("all", ["private:project", "private:user"]),
    ],
)
def test_of_the_private_journal_it_tells_what_the_user_lets_it(tmp_path, let, kinds):
    """Nothing of it, what a brief may, or all of it."""
    world = RecallWorld(tmp_path)
    app = world.open(COMMONPLACE_BRIEF_PRIVATE=let)
    write = app.toolset("private").tool("process_thoughts").call
    write({"project_notes": "The harbour light is painted green."})
    write({"feelings": "Storms frighten me.", "user_context": "Prefers tea."})
    prompts = app.prompts()
    found = [*prompts.find_strong(ASKED, ()), *prompts.find_strong("Which storms frighten me?", ())]
    assert [item.ref.partition("/")[0].partition("@")[0] for item in found] == kinds
    world.close()


def test_what_came_with_a_repository_is_not_told(tmp_path):
    """However well it fits, and however much of the private journal may be told."""
    world = RecallWorld(tmp_path)
    app = world.open(COMMONPLACE_BRIEF_PRIVATE="all")
    project = world.folder / "project"
    note = project / ".private-journal" / "2026-11-20" / "10-00-00-000001.md"
    note.parent.mkdir(parents=True)
    note.write_text("## Project Notes\n\nThe harbour light is painted green.\n")
    assert len(app.prompts().find_strong(ASKED, ())) == 1
    for words in (["init", "-q"], ["add", "-f", note]):
        subprocess.run(["git", "-C", project, *words], check=True)
    assert app.prompts().find_strong(ASKED, ()) == []
    world.close()


def test_the_socket_is_for_this_user_alone(listening):
    """0600 in a folder of 0700."""
    path = sockets()[-1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700


def test_a_folder_that_others_can_reach_is_not_used(listening):
    """Neither by the server nor by the hook."""
    folder().chmod(0o755)
    assert run_hook("prompt", prompt=ASKED, session_id="reach-1") == ""
    folder().chmod(0o700)
    assert "harbour" in told(session_id="reach-1")


def test_nothing_is_said_where_no_server_listens(monkeypatch, no_weights):
    """Nobody, or a server that was not asked to, which makes no folder: no line in the log."""
    facts("log", "painted the harbour light green")
    assert run_hook("prompt", prompt=ASKED) == ""
    monkeypatch.delenv("COMMONPLACE_HOOKS_RECALL")
    with RawServer(cwd=Path.cwd()) as server:
        server.handshake()
        server.ask("tools/list")
        server.call("recall", {"query": "harbour"})
        assert not folder().exists()
        monkeypatch.setenv("COMMONPLACE_HOOKS_RECALL", "true")
        assert run_hook("prompt", prompt=ASKED) == ""
    assert log_lines() == []


def test_a_server_of_another_project_is_not_asked(listening, tmp_path):
    """What is said in a project brings to mind what its own server finds."""
    other = tmp_path / "other"
    other.mkdir()
    assert run_hook("prompt", prompt=ASKED, cwd=other, session_id="other-1") == ""
    assert log_lines() == []


def test_of_several_servers_the_newest_that_lives_is_asked(start, monkeypatch):
    """A killed one does not stand before it, and the next server removes its socket.

    The second one only reads: recalling writes nothing. One that ends takes its name away.
    """
    facts("log", "painted the harbour light green")
    first = start()
    (dead,) = sockets()
    first.process.kill()
    first.process.wait()
    assert sockets() == [dead]
    assert run_hook("prompt", prompt=ASKED) == ""
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    living = start()
    assert len(sockets()) == 1
    assert dead not in sockets()
    (living_name,) = sockets()
    newer = start()
    newer.process.kill()
    newer.process.wait()
    assert len(sockets()) == 2
    assert "harbour" in told()
    assert living.end() == 0
    assert len(sockets()) == 1
    assert living_name not in sockets()


def test_a_server_that_hangs_is_not_waited_for(listening):
    """Nothing is said, and the hook ends well."""
    process = listening.server.process
    process.send_signal(signal.SIGSTOP)
    try:
        assert run_hook("prompt", prompt=ASKED, session_id="hang-1") == ""
    finally:
        process.send_signal(signal.SIGCONT)
    assert "harbour" in told(session_id="hang-1")
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


def test_whatever_is_sent_does_no_harm(listening):
    """Each is answered or not; the session and the next prompt are, as before."""
    for name, sent in HOSTILE.items():
        answer = ask_server(sent)
        assert answer == b"" or set(json.loads(answer)) == {"text", "refs"}, name
    assert refs_for(ASKED) == [listening.ref]
    assert "harbour" in listening.server.text("recall", {"query": "harbour light"})
    assert listening.server.process.poll() is None
    assert "Traceback" not in listening.server.stderr


def test_hooks_that_leave_and_hooks_that_wait_do_not_stop_the_others(listening):
    """More connections than the queue holds, of which none says a word."""
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
    assert "harbour" in told(session_id="idle-1")
    for connection in idle[1::2]:
        connection.close()


def test_what_was_told_is_never_kept_as_said(listening):
    """The copy of the transcript has the user's words without ours."""
    said = told(session_id="said-1")
    path = write_transcript("said-9", 1, text=f"{ASKED}\n{said}\nthen")
    run_hook("stop", session_id="said-9", transcript_path=str(path))
    (copy,) = our_folder().rglob("said-9.jsonl")
    (message,) = map(json.loads, copy.read_text().splitlines())
    assert message["text"].split() == [*ASKED.split(), "then", "0"]


def test_no_secret_is_brought_to_mind(listening):
    """Not one that was written before such were left out."""
    said = told("When was the boathouse door painted blue?", session_id="secret-1")
    assert "boathouse" in said
    assert KEY not in said
