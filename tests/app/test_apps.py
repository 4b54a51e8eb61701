"""Many owners in one process: each has folders of its own, and what they share is made once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from tests.patience import PATIENCE_S

from commonplace.app import App, Apps
from commonplace.app.apps import IDLE_S, MOMENT_S, MOST_AT_ALL, MOST_OPEN
from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid, Unavailable
from commonplace_testing import HashingEncoder, ReadySlot

PROJECT = Path(__file__).parents[2]


class World:
    """A machine with one user, a project, and a server for many owners."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.now = 0.0

    def settings(self, **environ: str):
        ours = str(self.home / ".local" / "share" / "commonplace")
        environ = {"COMMONPLACE_TOOLSETS": "all", "COMMONPLACE_HOME": ours, **environ}
        return read_settings(environ=environ, cwd=self.project, home=self.home)

    def shared(self, settings, *, serves_owners=False):
        slot = ReadySlot(HashingEncoder())
        return ProcessContext(settings, encoder=slot, serves_owners=serves_owners)

    def apps(self) -> Apps:
        settings = self.settings()
        return Apps(
            settings,
            user_home=self.home,
            shared=self.shared(settings, serves_owners=True),
            monotonic=lambda: self.now,
        )

    def alone(self, owner: str) -> App:
        """A command or a session of the machine's user, under a name."""
        settings = self.settings(COMMONPLACE_OWNER=owner)
        return App(settings, user_home=self.home, shared=self.shared(settings))


@pytest.fixture
def world(tmp_path):
    """Nothing is written yet."""
    return World(tmp_path)


def recalled(app: App, query: str) -> list[str]:
    """The refs that recall finds."""
    facts = app.recall.toolset().tool("recall").call({"query": query}).facts
    return [hit["ref"] for hit in facts["results"]]


def write_everywhere(app: App, word: str) -> None:
    """An entry of each journal that holds the word."""
    app.private.service().process_thoughts(feelings=f"About {word}.")
    app.chronicle.toolset().tool("add_entry").call({"message": f"Painted the {word}"})
    app.notebook.journal.init()
    write = app.notebook.toolset().tool("journal_write").call
    write({"path": "colours", "entry": f"Mixed {word} with oil.", "overview": f"On {word}."})
    app.timeline.toolset().tool("timeline_add").call({"content": f"Looked at {word}"})
    app.memory.write_toolset().tool("memory_save").call(
        {"kind": "gratitude", "text": f"Grateful for {word}"}
    )


def test_two_owners_find_their_own_entries_of_every_journal_alone(world):
    """Five journals, two owners and the machine's own: nobody finds a word of another."""
    apps = world.apps()
    words = {"ann": "vermilion", "ben": "turquoise", "me": "ochre"}
    for owner, word in words.items():
        with apps.using(owner) as app:
            write_everywhere(app, word)
    for owner, own in words.items():
        with apps.using(owner) as app:
            journals = {ref.partition(":")[0] for ref in recalled(app, own)}
            assert journals >= {"private", "chronicle", "notebook", "timeline", "memory"}
            for other in {*words.values()} - {own}:
                text = app.recall.toolset().tool("recall").call({"query": other}).text
                assert other not in text.replace(f"{other!r}", "").replace(f'"{other}"', "")
    apps.close()


_ANOTHER_SERVER = """
import sys
from pathlib import Path
from tests.app.test_apps import World

world = World(Path(sys.argv[1]))
with world.apps().using("ann") as app:
    journal, log = app.private.files, app.chronicle.journal
    for line in sys.stdin:
        act, ref, text = line.rstrip().split(" ", 2)
        if act == "write":
            (ref,) = journal.write({"feelings": text}).refs
        elif act == "edit":
            journal.edit(ref, text)
        elif act == "delete":
            journal.delete(ref)
        elif act == "log":
            ref = log.add_event(text).event.ref
        elif act == "relog":
            log.edit_event(ref.removeprefix("chronicle:"), message=text)
        elif act == "unlog":
            log.delete_event(ref.removeprefix("chronicle:"))
        elif act == "find":
            found = app.recall.toolset().tool("recall").call({"query": text})
            ref = " ".join(found.text.split())
        print(ref, flush=True)
"""


def test_a_write_of_another_server_that_was_never_filed_is_found_without_a_look(world):
    """It was killed before it filed: new, edited and deleted entries are seen by the mark alone."""
    apps = world.apps()
    command = [sys.executable, "-c", _ANOTHER_SERVER, str(world.folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": PROJECT}
    with apps.using("ann") as app, subprocess.Popen(command, **pipes) as other:

        def acts(act: str, ref: str = "-", text: str = "-") -> str:
            other.stdin.write(f"{act} {ref} {text}\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        def answered(query: str) -> str:
            return app.recall.toolset().tool("recall").call({"query": query}).text

        app.private.service().process_thoughts(feelings="About vermilion.")
        app.filing.sweep()
        colours = {
            ("write", "edit", "delete"): ("turquoise", "ochre"),
            ("log", "relog", "unlog"): ("magenta", "maroon"),
        }
        for (write, edit, delete), (first, second) in colours.items():
            ref = acts(write, text=f"About {first}.")
            assert f"About {first}." in answered(first)
            acts(edit, ref, f"About {second}.")
            assert f"About {second}." in answered(second)
            assert f"About {first}." not in answered(first)
            acts(delete, ref)
            assert f"About {second}." not in answered(second)
        app.chronicle.service().add("Painted it indigo")
        assert "Painted it indigo" in acts("find", text="indigo")
        other.kill()
    apps.close()


def test_what_another_owner_writes_lies_in_that_owners_folder_alone(world):
    """The machine user's home, and the project, hold nothing that was not there before."""
    apps = world.apps()
    with apps.using("ann") as app:
        home = app.settings.home / "users" / "ann"
        write_everywhere(app, "vermilion")
    apps.close()
    written = [x for x in world.folder.rglob("*") if x.is_file()]
    assert written
    assert [x for x in written if not x.is_relative_to(home)] == []
    assert {x.name for x in home.iterdir()} >= {
        "private",
        "chronicle",
        "notebook",
        "journal",
        "memory",
        "served",
    }


def test_the_machines_owner_is_served_the_machine_users_folders(world):
    """A token for `me` reaches ~/.private-journal, and no project's."""
    with_project = world.alone("me")
    with_project.private.service().process_thoughts(
        feelings="About ochre.", project_notes="Ochre too."
    )
    with_project.close()
    apps = world.apps()
    with apps.using("me") as app:
        roots = [root.path for root in app.private.journal.roots]
        assert roots == [world.home / ".private-journal"]
        assert any(ref.startswith("private:user/") for ref in recalled(app, "ochre"))
    apps.close()


def test_what_is_logged_tells_nothing_of_the_servers_surroundings(world, monkeypatch):
    """Neither its folder nor its user nor its host, to somebody who is elsewhere."""
    monkeypatch.setenv("USER", "the-servers-own")
    apps = world.apps()
    logged = {}
    for owner in ("ann", "me"):
        with apps.using(owner) as app:
            tool = app.chronicle.toolset().tool("add_entry")
            logged[owner] = tool.call({"message": "About ochre."}).facts
    apps.close()
    ann, me = logged["ann"], logged["me"]
    assert (ann["directory"], ann["hostname"], ann["username"]) == ("unknown", "unknown", "ann")
    assert (me["directory"], me["username"]) == ("unknown", "the-servers-own")


def test_a_name_the_machines_user_once_went_by_opens_none_of_that_users_entries(world):
    """What was indexed for the machine's owner of that name is not what a served owner searches."""
    once = world.alone("ann")
    once.private.service().process_thoughts(feelings="About ochre.", project_notes="Ochre too.")
    once.chronicle.toolset().tool("add_entry").call({"message": "Painted it ochre"})
    assert len(recalled(once, "ochre")) >= 2
    once.close()
    apps = world.apps()
    with apps.using("ann") as app:
        assert recalled(app, "ochre") == []
    apps.close()


def test_all_owners_share_one_encoder_and_an_app_is_opened_once(world):
    """Two uses at a time are one app; the encoder is the same object."""
    apps = world.apps()
    with apps.using("ann") as one, apps.using("ann") as same, apps.using("ben") as other:
        assert one is same
        assert one is not other
        assert one.encoder is other.encoder
    apps.close()


def test_an_idle_app_is_closed_and_one_in_use_stays(world):
    """After ten minutes without a user; whoever comes back gets a new one."""
    apps = world.apps()
    with apps.using("ann") as used:
        with apps.using("ben") as idle:
            pass
        world.now = IDLE_S + 1
        apps.close_idle()
        with apps.using("ben") as again, apps.using("ann") as still:
            assert again is not idle
            assert still is used
    apps.close()


def test_of_too_many_owners_the_longest_unused_is_closed(world):
    """One more than stay open: the first one leaves, the second stays."""
    apps = world.apps()
    seen = {}
    for number in range(MOST_OPEN + 1):
        world.now += 1
        with apps.using(f"user{number}") as app:
            seen[number] = app
    apps.close_idle()
    with apps.using("user1") as second, apps.using("user0") as first:
        assert second is seen[1]
        assert first is not seen[0]
    apps.close()


def test_owners_who_call_in_turns_do_not_close_each_others_apps(world):
    """A few more than stay open at rest, within a moment; then the longest unused ones leave."""
    apps = world.apps()
    seen = {}
    for turn in range(2):
        for number in range(MOST_OPEN + 3):
            with apps.using(f"user{number}") as app:
                assert turn == 0 or app is seen[number]
                seen[number] = app
    world.now = MOMENT_S + 1
    apps.close_idle()
    with apps.using("user0") as first, apps.using("user3") as fourth:
        assert first is not seen[0]
        assert fourth is seen[3]
    apps.close()


def test_no_more_are_open_than_a_process_can_bear(world):
    """However many come within a moment: whoever comes then closes the longest unused first."""
    apps = world.apps()
    with apps.using("first") as used:
        seen = {}
        for number in range(MOST_AT_ALL):
            world.now += MOMENT_S / MOST_AT_ALL / 2
            with apps.using(f"user{number}") as app:
                seen[number] = app
        with apps.using("user1") as second, apps.using("user0") as gone, apps.using("first") as one:
            assert one is used
            assert second is seen[1]
            assert gone is not seen[0]
        with apps.using("user2") as third:
            assert third is not seen[2]
    apps.close()


class MeetingLock:
    """A lock after whose first release each of two threads waits for the other, while they meet."""

    def __init__(self) -> None:
        self.do_meet = False
        self._lock = threading.Lock()
        self._all_met = threading.Barrier(2)
        self._met = threading.local()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if self.do_meet and not hasattr(self._met, "once"):
            self._met.once = True
            self._all_met.wait(PATIENCE_S)


def test_owners_who_come_together_each_need_a_place(world, monkeypatch):
    """Of two who come where there is room for one, the second has another's closed."""
    monkeypatch.setattr("commonplace.app.apps.MOST_AT_ALL", 3)
    closed = []
    close = App.close
    monkeypatch.setattr(App, "close", lambda app: (closed.append(app), close(app)))
    lock = MeetingLock()
    settings = world.settings()
    shared = world.shared(settings, serves_owners=True)
    with monkeypatch.context() as patch:
        patch.setattr(threading, "Lock", lambda: lock)
        apps = Apps(settings, user_home=world.home, shared=shared, monotonic=lambda: world.now)
    longest_unused = []
    for owner in ("first", "second"):
        with apps.using(owner) as app:
            longest_unused.append(app)
            world.now += 1
    lock.do_meet = True
    opened = []

    def come(owner: str) -> None:
        with apps.using(owner) as app:
            opened.append(app)

    threads = [threading.Thread(target=come, args=(owner,)) for owner in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(opened) == 2
    assert closed == longest_unused[:1]
    lock.do_meet = False
    with apps.using("second") as second, apps.using("third") as third:
        assert second is longest_unused[1]
        assert third not in opened
    assert len(closed) == 2
    apps.close()


def test_whoever_left_has_no_file_open(world):
    """Journals and index alike; what is shared stays."""
    apps = world.apps()
    with apps.using("ann") as app:
        write_everywhere(app, "vermilion")
        recalled(app, "vermilion")
    world.now = IDLE_S + 1
    apps.close_idle()
    users = str(world.settings().home / "users")
    assert [x.path for x in psutil.Process().open_files() if x.path.startswith(users)] == []
    with apps.using("ann") as app:
        assert recalled(app, "vermilion")
    apps.close()


def test_many_threads_of_one_owner_get_one_app(world):
    """Eight at once."""
    apps = world.apps()
    got = []
    gate = threading.Barrier(8)

    def use() -> None:
        gate.wait()
        with apps.using("ann") as app:
            got.append(app)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({id(app) for app in got}) == 1
    apps.close()


def test_a_closed_server_opens_nothing_and_a_hostile_name_is_refused(world):
    """Closing twice is no error."""
    apps = world.apps()
    with pytest.raises(Invalid), apps.using("a\nb"):
        pass
    apps.close()
    apps.close()
    with pytest.raises(Unavailable), apps.using("ann"):
        pass


def test_hostile_names_never_share_a_folder(world):
    """`..`, `a/b`, `A` and `a` are four owners, all of them below the users folder."""
    apps = world.apps()
    homes = set()
    for owner in ("..", "a/b", "A", "a"):
        with apps.using(owner) as app:
            app.private.service().process_thoughts(feelings=f"About {owner} and ochre.")
            homes.add(app.settings.private.user_path)
            assert len(recalled(app, "ochre")) == 1
    assert len(homes) == 4
    users = world.settings().home / "users"
    assert {home.parent.parent for home in homes} == {users}
    apps.close()


def test_journals_that_cannot_be_closed_keep_no_others_open(world, monkeypatch):
    """It is logged, and the rest is closed all the same."""
    apps = world.apps()
    with apps.using("ann") as broken, apps.using("ben") as whole:
        pass
    closed = []
    monkeypatch.setattr(broken, "close", lambda: 1 / 0)
    monkeypatch.setattr(whole, "close", lambda: closed.append("ben"))
    world.now = IDLE_S + 1
    apps.close_idle()
    assert closed == ["ben"]
    apps.close()
