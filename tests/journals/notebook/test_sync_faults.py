"""Syncs that are overtaken, killed, or met by a hostile side: no entry is lost, none is doubled."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.journals.notebook.moments import Impatient, at, dies, gone_at
from tests.journals.notebook.team import Team, having
from tests.journals.notebook.team import both as sync_both
from tests.patience import PATIENCE_S
from tests.peak_memory import peak_memory
from tests.sampled import sampled

from commonplace.core.errors import CommonplaceError, Conflict, Denied, Unavailable
from commonplace.journals.notebook import sync as notebook_sync
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.sections import OverviewConflict

BEGINNING = having(("a", "first", "One.\n\nTwo."))


@pytest.fixture
def team(tmp_path):
    """Ann and Bob, each with a clone that holds one entry."""
    made = Team(tmp_path, after=BEGINNING)
    yield made
    made.close()


def both(team: Team) -> None:
    sync_both(team)
    assert team.files(0) == team.files(1)


def test_others_push_meanwhile(team, monkeypatch):
    """The lease holds, and all is done anew on what is there then."""
    team.write(0, "a", "Ann", "One!\n\nTwo.")

    def other():
        team.write(1, "a", "Bob", "One.\n\nTwo?")
        team.sync(1)

    at(monkeypatch, "push", other)
    assert team.sync(0).received == 1
    both(team)
    assert team.notes[0].read_section("a").overview == "One!\n\nTwo?"


def test_others_push_all_the_time(team, monkeypatch):
    """It is given up after some tries, with branch and folder as they were."""
    monkeypatch.setattr(notebook_sync, "TRIES", 2)
    team.write(0, "a", "Ann")
    before = team.states(0)

    def other() -> None:
        tree, head = team.git(None, "rev-parse", "main^{tree}", "main", at=team.bare).split()
        made = team.git(None, "commit-tree", tree, "-p", head, "-m", "x", at=team.bare).strip()
        team.git(None, "update-ref", "refs/heads/main", made, at=team.bare)

    at(monkeypatch, "push", other, times=2)
    with pytest.raises(Conflict) as caught:
        team.sync(0)
    assert caught.value.summary == (
        "The remote origin has moved on. Others sync all the time; try later."
    )
    assert team.states(0) == before


@pytest.mark.parametrize("after", [False, True])
def test_a_writer_here_meanwhile(team, monkeypatch, after):
    """Before the push, or between push and branch: its entry and its overview go too."""
    team.write(0, "a", "Ann", "One!\n\nTwo.")
    team.write(1, "a", "Bob", "One.\n\nTwo.\n\nThree.")
    team.sync(1)
    at(monkeypatch, "push", lambda: team.write(0, "a", "Late", "One!\n\nTwo!"), after=after)
    assert team.sync(0).conflicts == ()
    both(team)
    assert [x[1] for x in team.entries(1)] == ["first", "Ann", "Bob", "Late"]
    assert team.notes[1].read_section("a").overview == "One!\n\nTwo!\n\nThree."
    assert team.git(0, "log", "--format=%s").split("\n").count("Ann") == 1


def test_a_writer_while_histories_are_joined_is_no_persons_edit(team, monkeypatch):
    """The sync is made anew, over what another process has written to the same section."""
    team.write(0, "a", "First", "One!")
    team.sync(0)
    team.sync(1)
    team.write(1, "a", "Theirs")
    team.sync(1)
    team.write(0, "a", "Ours")
    at(monkeypatch, "fast-import", lambda: team.write(0, "a", "Late"))
    team.sync(0)
    both(team)
    assert {x[1] for x in team.entries(1)} >= {"First", "Theirs", "Ours", "Late"}


def test_a_writer_meanwhile_loses_no_conflict(team, monkeypatch):
    """What could not be merged before the push waits still, once."""
    team.write(0, "a", "Ann", "Ann's.\n\nTwo.")
    team.write(1, "a", "Bob", "Bob's.\n\nTwo.")
    team.sync(1)
    at(monkeypatch, "push", lambda: team.write(0, "b", "Late"), after=True)
    team.sync(0)
    both(team)
    (waits,) = Clashes(team.notes[0]).list_open()
    assert (waits.ours, waits.theirs) == ("Ann's.\n\nTwo.", "Bob's.\n\nTwo.")


SYNC = 'Sync(notes, remote="origin").run()'


def unsynced(team: Team) -> list[str]:
    """Ann has entries, a commit by hand, and an overview that cannot be merged with Bob's."""
    BEGINNING(team)
    team.write(0, "a", "Ann", "Ann's.\n\nTwo.")
    team.write(0, "b", "Ann in b", "Of b.")
    team.hand(0, "By hand", c="C.\n")
    team.write(1, "a", "Bob", "Bob's.\n\nTwo.")
    team.sync(1)
    return []


def is_gone_on_with(team: Team, overview: str | None = None) -> None:
    """Everything is once with both after the next syncs; what could not be merged waits once."""
    team.write(0, "a", "Later", overview)
    team.write(1, "b", "Bob in b")
    both(team)
    summaries = [x[1] for x in team.entries(0)]
    assert Counter(summaries) == Counter(
        ["first", "Ann", "Ann in b", "By hand", "Bob", "Later", "Bob in b"]
    )
    assert team.entries(0) == team.entries(1)
    assert [x.ours for x in Clashes(team.notes[0]).list_open()] == ["Ann's.\n\nTwo."]
    assert team.git(0, "for-each-ref", "refs/commonplace/sync") == ""
    assert not [*(team.place(0) / ".git" / "commonplace-sync").iterdir()]


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize(
    ("step", "overview"),
    [
        ("after fast-import", None),
        ("after push", None),
        ("after update-ref", "Of now."),
    ],
)
def test_a_sync_killed_anywhere_is_gone_on_with(tmp_path, step, overview):
    """With the merge made, with it pushed, and with the branch moved and the folder not."""
    team = Team(tmp_path, after=unsynced)
    assert dies(SYNC, team.place(0), ledger=team.folder / "Ann.db", at=step)
    is_gone_on_with(team, overview)
    team.close()


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize(
    "stride",
    [pytest.param(12, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.whole)],
)
def test_a_sync_killed_at_each_step_is_gone_on_with(tmp_path, counted, stride):
    """Before each process that it starts and each file that gets its name or loses it."""
    nth, died = 1, True
    while died:
        folder = tmp_path / str(nth)
        folder.mkdir()
        team = Team(folder, after=unsynced)
        died = dies(SYNC, team.place(0), ledger=team.folder / "Ann.db", at=f"step {nth}")
        is_gone_on_with(team)
        team.close()
        nth += stride
    assert nth > 60
    counted("a sync of the notebook, killed at each step", (nth - 1) // stride - 1)


def test_a_folder_that_a_killed_sync_left_behind_is_no_edit(team):
    """The branch was moved, the files were not: the next sync brings them, and takes them for nobody's."""
    team.write(1, "a", "Bob", "One.\n\nTwo!")
    team.sync(1)
    assert dies(SYNC, team.place(0), ledger=team.folder / "Ann.db", at="before a.md")
    assert team.git(0, "status", "--porcelain") == " M a.md\n"
    team.write(1, "a", "Bob again")
    team.sync(1)
    team.sync(0)
    assert team.files(0) == team.files(1)


_SYNCER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.sync import Sync
from commonplace.journals.notebook.conflicts import Clashes
folder, ledger, name, count = sys.argv[1:]
now = lambda: datetime.now(UTC)
notes = NotebookJournal(Path(folder), ledger=Path(ledger), owner="me", zone=UTC, clock=now, author=f"{name} <x@x.org>")
for number in range(int(count)):
    notes.write("shared" if number % 2 else name, f"{name} {number}")
    Sync(notes, remote="origin").run()
"""


@pytest.mark.parametrize("times", [2, pytest.param(6, marks=pytest.mark.long)])
def test_many_sync_at_once(team, times):
    """Two processes in one clone and one in another, writing and syncing all the time."""
    commands = [
        [
            sys.executable,
            "-c",
            _SYNCER,
            str(team.place(which)),
            str(team.folder / ledger),
            name,
            str(times),
        ]
        for which, ledger, name in ((0, "x.db", "w0"), (0, "y.db", "w1"), (1, "z.db", "w2"))
    ]
    started = [subprocess.Popen(x, stderr=subprocess.PIPE, text=True) for x in commands]
    told = [x.communicate(timeout=PATIENCE_S)[1] for x in started]
    assert [x.returncode for x in started] == [0, 0, 0], told
    both(team)
    expected = ["first", *(f"w{n} {m}" for n in range(3) for m in range(times))]
    assert Counter(x[1] for x in team.entries(0)) == Counter(expected)
    assert team.notes[1].read_section("shared").entry_count == 3 * (times // 2)


def test_nothing_the_repositories_name_is_run(team, tmp_path):
    """Hooks and programs of the clone and of the remote, attributes, helpers, another transport."""
    program, mark = tmp_path / "trap", tmp_path / "sprung"
    program.write_text(f"#!/bin/sh\necho $0 >> {mark}\ncat\nexit 1\n")
    program.chmod(0o755)
    hooks = ("pre-push", "reference-transaction", "post-merge", "pre-receive", "update", "post-receive",
             "post-update", "proc-receive", "push-to-checkout", "post-index-change", "pre-rebase")  # fmt: skip
    for folder in (team.place(0) / ".git" / "hooks", team.bare / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in hooks:
            (folder / name).unlink(missing_ok=True)
            os.symlink(program, folder / name)
    for key in (
        "core.sshCommand", "core.gitProxy", "core.askPass", "core.fsmonitor", "gpg.program",
        "core.alternateRefsCommand", "core.editor", "remote.origin.uploadpack",
        "remote.origin.receivepack", "remote.origin.vcs2", "uploadpack.packObjectsHook",
        "filter.evil.smudge", "filter.evil.clean", "gc.recentObjectsHook", "credential.helper",
    ):  # fmt: skip
        for place in (team.place(0), team.bare):
            team.git(None, "config", key, str(program), at=place)
    for place in (team.place(0), team.bare):
        team.git(None, "config", "push.gpgSign", "if-asked", at=place)
    team.git(0, "config", "credential.http://127.0.0.1.helper", f"!{program}")
    (team.place(0) / ".git" / "info").mkdir(exist_ok=True)
    (team.place(0) / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    team.write(0, "a", "Ann")
    team.write(1, "a", "Bob", "New.")
    team.sync(1)
    assert team.sync(0).received == 1
    team.git(0, "config", "remote.origin.pushurl", f"file://{team.bare}")
    team.write(0, "a", "Ann again")
    assert team.sync(0).sent == 1
    team.git(0, "config", "--unset", "remote.origin.pushurl")
    team.git(0, "remote", "set-url", "origin", "http://127.0.0.1:1/x")
    with pytest.raises(Unavailable):
        team.sync(0)
    team.git(0, "config", "remote.origin.vcs", "evil")
    with pytest.raises(CommonplaceError):
        team.sync(0)
    assert not mark.exists(), mark.read_text()
    for key in (
        "remote.origin.vcs",
        "core.fsmonitor",
        "filter.evil.clean",
        "core.alternateRefsCommand",
    ):
        team.git(0, "config", "--unset-all", key, check=False)
    for name in hooks:
        (team.place(0) / ".git" / "hooks" / name).unlink()
        (team.bare / "hooks" / name).unlink()


def test_a_proxy_that_the_repository_names_is_not_run(team, tmp_path):
    """Not for git's own protocol either, for which it would be a program."""
    program, mark = tmp_path / "trap", tmp_path / "sprung"
    program.write_text(f"#!/bin/sh\necho $0 >> {mark}\nexit 1\n")
    program.chmod(0o755)
    team.git(0, "config", "core.gitProxy", str(program))
    team.git(0, "remote", "set-url", "origin", "git://127.0.0.1:1/x")
    with pytest.raises(Unavailable):
        team.sync(0)
    assert not mark.exists()


def test_a_remote_that_would_bring_its_own_folder_up_to_date(team, tmp_path):
    """It is refused by name: to write files there, git would run what that repository names."""
    program, mark = tmp_path / "trap", tmp_path / "sprung"
    program.write_text(f"#!/bin/sh\necho $0 >> {mark}\ncat\n")
    program.chmod(0o755)
    for key, value in {
        "receive.denyCurrentBranch": "updateInstead",
        "filter.evil.smudge": str(program),
        "filter.evil.clean": str(program),
    }.items():
        team.git(1, "config", key, value)
    (team.place(1) / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    team.write(0, "a", "Ann")
    head = team.head(1)
    for address in (str(team.place(1)), f"file://{team.place(1)}"):
        team.git(0, "remote", "set-url", "origin", address)
        with pytest.raises(Denied, match="checked out") as told:
            team.sync(0)
        assert str(team.place(1)) in told.value.located
    assert (team.head(1), mark.exists()) == (head, False)
    (team.place(1) / ".git" / "info" / "attributes").unlink()


def test_a_remote_that_never_answers(team, monkeypatch):
    """The command is ended with all it started; nothing has changed."""
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        team.git(0, "remote", "set-url", "origin", f"http://127.0.0.1:{silent.getsockname()[1]}/x")
        monkeypatch.setattr(subprocess, "Popen", Impatient)
        before = team.states(0)
        with pytest.raises(Unavailable, match="took longer"):
            team.sync(0)
        assert team.states(0) == before


class Asking(BaseHTTPRequestHandler):
    """A host that wants a password."""

    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args):
        pass


def test_nobody_is_asked_for_a_password(team, tmp_path, monkeypatch):
    """The user's own helper is, and no other; without one the answer says how to sign in."""
    asked, sprung = tmp_path / "asked", tmp_path / "sprung"
    for path, mark in ((tmp_path / "helper", asked), (tmp_path / "trap", sprung)):
        path.write_text(f'#!/bin/sh\necho "$1" >> {mark}\n')
        path.chmod(0o755)
    team.git(0, "config", "credential.helper", str(tmp_path / "trap"))
    home = tmp_path / "somebody"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = HTTPServer(("127.0.0.1", 0), Asking)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/x.git"
        team.git(0, "remote", "set-url", "origin", address)
        with pytest.raises(Denied, match="does not let you in") as told:
            team.sync(0)
        assert f"git -C {team.place(0)} fetch origin" in told.value.located_hint
        team.git(None, "config", "--global", "credential.helper", str(tmp_path / "helper"), at=home)
        team.notes[0].close()
        team.notes[0] = team.open(0)
        with pytest.raises(Denied):
            team.sync(0)
        assert asked.read_text().startswith("get\n")
        assert not sprung.exists()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def faulty_tree(team: Team, name: str) -> None:
    """Bob pushes a tree with an entry of this name, as only a hostile program makes it."""
    blob = team.git(1, "hash-object", "-w", "a.md").strip()
    raw = f"100644 {name}".encode() + b"\0" + bytes.fromhex(blob)
    run = subprocess.run(
        ["git", "-C", str(team.place(1)), "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        input=raw, capture_output=True,
    )  # fmt: skip
    tree = run.stdout.decode().strip()
    commit = team.git(1, "commit-tree", tree, "-p", "main", "-m", "hostile").strip()
    team.git(1, "push", "-q", "origin", f"{commit}:main")


@pytest.mark.parametrize("name", [".git", "..", ".GIT", "git~1"])
def test_a_hostile_tree_is_not_taken(tmp_path, name):
    """What git finds faulty is refused; nothing of it comes in."""
    team = Team(tmp_path, after=BEGINNING)
    faulty_tree(team, name)
    before = (team.states(0), (team.place(0) / ".git" / "config").read_bytes())
    with pytest.raises((Denied, Unavailable)):
        team.sync(0)
    assert (team.states(0), (team.place(0) / ".git" / "config").read_bytes()) == before
    for notes in team.notes:
        notes.close()


def test_names_that_no_section_may_have(team):
    """What others committed by hand under odd names comes in as files, and harms nothing."""
    for name in ("-rf", "--output=x", "CON", "a b", "ü", "x" * 200, "tab\there"):
        path = team.place(1) / f"{name}.md"
        path.write_text(f"{name}\n")
    team.git(1, "add", ".")
    team.hand(1, "Odd names")
    team.write(0, "b", "x")
    team.sync(1)
    team.sync(0)
    both(team)
    assert (team.place(0) / "-rf.md").read_text() == "-rf\n"
    assert team.entries(0).count(("CON", "Odd names")) == 1


def test_a_name_that_no_disk_holds(team):
    """It stays in the history alone, and is told; other files come in, and the next sync as well."""
    blob = team.git(1, "rev-parse", "HEAD:a.md").strip()
    name = "x" * 300
    team.git(1, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}.md")
    team.git(1, "commit", "-q", "-m", "A long name")
    team.git(1, "push", "-q", "origin", "main")
    team.write(0, "b", "x")
    assert "File name too long" in team.sync(0).notes[0]
    team.write(0, "b", "y")
    assert team.sync(0).notes == ()
    assert team.notes[0].read_section(name).entry_count == 1


def test_a_link_that_a_remote_lays(team, tmp_path):
    """Is not made, and nothing is written through one that is there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    team.write(0, "d/x", "x")
    both(team)
    (team.place(0) / "d").rename(tmp_path / "moved")
    os.symlink(outside, team.place(0) / "d")
    os.symlink("/etc/passwd", team.place(1) / "evil.md")
    team.git(1, "add", ".")
    team.hand(1, "A link")
    team.write(1, "d/x", "y")
    team.sync(1)
    with contextlib.suppress(Conflict):
        team.sync(0)
    assert not list(outside.iterdir())
    assert not os.path.lexists(team.place(0) / "evil.md")
    (team.place(0) / "d").unlink()
    (tmp_path / "moved").rename(team.place(0) / "d")


@pytest.mark.long  # 65 MiB of it
def test_a_large_file_is_brought_without_being_held(team):
    """It comes, changes and goes in the folder, and never lies in memory; an edit of it is refused."""
    film, size = team.place(1) / "film.bin", 65 << 20
    film.touch()
    for end in (b"1", b"2", b"3", b""):
        with film.open("r+b") as file:
            file.seek(size)
            file.write(end)
        if not end:
            film.unlink()
        team.git(1, "-c", "core.compression=0", "add", ".")
        team.hand(1, "A film")
        team.sync(1)
        if end == b"3":
            with (team.place(0) / "film.bin").open("ab") as file:
                file.write(b"!")
            with pytest.raises(Conflict, match=r"Changed in the folder .*: film\.bin"):
                team.sync(0)
            team.git(0, "restore", "film.bin")
        with peak_memory() as most:
            assert team.sync(0).notes == ()
        assert most() < size // 2
        assert team.git(0, "status", "--porcelain") == ""
        assert (team.place(0) / "film.bin").exists() is bool(end)


def test_a_partial_clone_is_told_how_to_become_whole(team, tmp_path):
    """What git left at the remote is not fetched unasked, and never passes for nothing."""
    for number in range(3):
        team.write(0, "a", str(number), f"Known {number}.\n\nTwo.")
    team.sync(0)
    team.git(None, "config", "uploadpack.allowFilter", "true", at=team.bare)
    words = ("clone", "-q", "--filter=blob:none", f"file://{team.bare}", "partial")
    team.git(None, *words, at=tmp_path)
    team.notes[1].close()
    team.notes[1] = team.open(1, tmp_path / "partial")
    team.write(1, "a", "Bob", "Known 2.\n\nTwo, by Bob.")
    team.write(0, "a", "Ann", "Known, by Ann.\n\nTwo.")
    team.write(0, "a", "Ann", "Known 2, by Ann.\n\nTwo.")
    team.sync(0)
    with pytest.raises(Unavailable, match="is a partial clone") as told:
        team.sync(1)
    command = told.value.located_hint.partition(": git -C ")[2].split()[1:]
    team.git(None, *command, at=tmp_path / "partial")
    assert team.sync(1).sent == 1
    assert team.notes[1].read_section("a").overview == "Known 2, by Ann.\n\nTwo, by Bob."


def test_a_commit_message_longer_than_an_entry_may_be(team, monkeypatch):
    """Whoever wrote it by hand: it goes along as it is."""
    monkeypatch.setattr("commonplace.journals.notebook.format.LARGEST", 1000)
    team.hand(0, "Long\n\n" + "word " * 1000, c="C.\n")
    team.write(1, "b", "x")
    team.sync(1)
    team.sync(0)
    (line,) = team.notes[0].list_entries("c")
    assert len(team.notes[0].read_entry(f"c#{line.id}").text) > 5000


sections = st.sampled_from(["a", "b", "d/c"])
who = st.integers(0, 1)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), who, sections, st.booleans()),
        st.tuples(st.just("hand"), who, sections),
        st.tuples(st.just("sync"), who),
        st.tuples(st.just("sync"), who),
        st.tuples(st.just("crash"), who, st.sampled_from(["fetch", "fast-import", "push", "update-ref"]), st.booleans()),
        st.tuples(st.just("rebase"), who),
        st.tuples(st.just("merge"), who),
        st.tuples(st.just("move"), who),
        st.tuples(st.just("forget"), who),
    ),
    min_size=6,
    max_size=16,
)  # fmt: skip


@sampled(3, 12, plan=steps)
def test_any_interleaving_keeps_every_entry_once(plan):
    """Writers, hand commits, syncs, broken-off syncs, rebases, merges, moves, lost ledgers."""
    with tempfile.TemporaryDirectory() as folder:
        Play(Path(folder)).run(plan)


class Killed(BaseException):
    """The process is gone."""


class Play:
    """Two clones, and what each was told is written."""

    def __init__(self, folder: Path) -> None:
        self.team = Team(folder)
        self.ids: list[str] = []
        self.hands = 0
        # Overviews that nobody has written over who had read them: here, and told to the others.
        self.fresh: dict[tuple[int, str], str] = {}
        self.told: list[str] = []

    def run(self, plan) -> None:
        for step, *arguments in plan:
            getattr(self, step)(*arguments)
        self.check()
        self.team.check()
        self.team.close()

    def write(self, which, section, is_overview) -> None:
        overview = f"Known {len(self.ids)}" if is_overview else None
        with contextlib.suppress(OverviewConflict):
            self.ids.append(self.team.write(which, section, f"entry {len(self.ids)}", overview))
            self.note(which, section, overview)

    def hand(self, which, section) -> None:
        self.hands += 1
        self.team.hand(
            which, f"hand {self.hands}", **{section.replace("/", "__"): f"by hand {self.hands}\n"}
        )

        self.note(which, section, f"by hand {self.hands}")

    def note(self, which, section, text) -> None:
        if text is not None:
            self.fresh[which, section] = text

    def sync(self, which) -> None:
        self.team.sync(which)
        self.told += [self.fresh.pop(key) for key in [*self.fresh] if key[0] == which]

    def crash(self, which, step, after) -> None:
        with pytest.MonkeyPatch.context() as patch:
            gone_at(patch, step, Killed(), after=after)
            with contextlib.suppress(Killed, CommonplaceError):
                self.team.sync(which)

    def rebase(self, which) -> None:
        if len(self.team.git(which, "rev-list", "--first-parent", "HEAD", check=False).split()) > 1:
            ahead = self.team.git(
                which, "log", "--oneline", "HEAD", "--not", "--remotes", check=False
            )
            back = len(ahead.splitlines())
            if back > 1:
                self.team.git(
                    which, "rebase", "-q", "--force-rebase", "--rebase-merges", f"HEAD~{back - 1}"
                )

    def merge(self, which) -> None:
        git = self.team.git
        if git(which, "rev-parse", "-q", "--verify", "HEAD", check=False):
            git(which, "fetch", "-q", "origin")
            if git(which, "merge-base", "HEAD", "origin/main", check=False):
                git(
                    which,
                    "merge",
                    "-q",
                    "--no-edit",
                    "-X",
                    "ours",
                    "-m",
                    "merge",
                    "origin/main",
                    check=False,
                )
                if git(which, "status", "--porcelain"):
                    git(which, "merge", "--abort", check=False)

    def move(self, which) -> None:
        names = self.team.notes[which].list_sections()
        if names:
            self.team.tick()
            stamp = int(self.team.now.timestamp()) % 100_000
            self.team.notes[which].move(names[0], f"moved-{stamp}")
            if text := self.fresh.pop((which, names[0]), None):
                self.note(which, f"moved-{stamp}", text)

    def forget(self, which) -> None:
        self.team.notes[which].close()
        for path in self.team.folder.glob(f"{('Ann', 'Bob')[which]}.db*"):
            path.unlink()

    def check(self) -> None:
        """Both clones hold every entry once, count alike, and have the same files."""
        team = self.team
        for which in (0, 1, 0, 1):
            if not team.is_in_step(which):
                self.sync(which)
        if not self.ids and not self.hands:
            return
        assert team.head(0) == team.head(1) == team.remote_head()
        kept = "".join(team.git(which, "log", "--all", "-p", "-m", "--format=") for which in (0, 1))
        lines = set(kept.splitlines())
        assert [text for text in self.told if f"+{text}" not in lines] == []
        for which in (0, 1):
            notes = team.notes[which]
            while waiting := Clashes(notes).list_open():
                Clashes(notes).settle(waiting[0], None)
            found = Counter(x[1] for x in team.entries(which))
            written = Counter(f"entry {n}" for n in range(len(self.ids)))
            assert {x: n for x, n in found.items() if x.startswith("entry")} == dict(written)
            assert {x for x in found if x.startswith("hand")} == {
                f"hand {n + 1}" for n in range(self.hands)
            }
            for section in notes.list_sections():
                read = notes.read_section(section)
                assert read.entry_count == len(notes.list_entries(section, length=1000))
        assert team.entries(0) == team.entries(1)
        assert team.files(0) == team.files(1)
        for name, text in team.files(0).items():
            if "entry count" in text:
                count = team.notes[0].ledger.count(name)
                assert text.endswith(f"<!-- entry count: {count} -->\n")
