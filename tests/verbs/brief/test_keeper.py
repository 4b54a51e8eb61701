"""The brief's files: what is written, edited or deleted by any way is in them, or no more, in time."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests.doors.killing import killed_before
from tests.doors.terminal import facts, opened_app, run, write
from tests.journals.transcripts import sessions
from tests.patience import PATIENCE_S, until

from commonplace.app.apps import Apps
from commonplace.config.quick import read_quick
from commonplace.config.settings import read_settings
from commonplace.core.brief_item import BriefItem
from commonplace.core.project_folders import ProjectFolders
from commonplace.core.values import Put
from commonplace.verbs.brief.keeper import BriefKeeper
from commonplace.verbs.brief.kept import EVERYWHERE, MOST_CHARACTERS, BriefFiles
from commonplace.verbs.brief.project import find_root
from commonplace.verbs.brief.service import BriefQuestion, make_brief
from commonplace_testing import a_doc

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3  # made up


def brief(folder=None):
    """The text that a hook gives a session of a folder, the working one unless named."""
    settings = read_quick(os.environ, str(folder or Path.cwd()))
    return make_brief(settings, BriefQuestion(find_root(settings, str(folder or Path.cwd())))).text


def owner_folder():
    return Path.home() / ".local" / "share" / "commonplace" / "users" / "me"


def holders(text):
    """The brief's files that hold a text."""
    return [x.name for x in (owner_folder() / "brief").iterdir() if text in x.read_text()]


def chronicle():
    return Path.home() / ".local" / "share" / "chronicle" / "chronicle.db"


def beside(statement, *values):
    """What another program does to chronicle."""
    with closing(sqlite3.connect(chronicle())) as conn, conn:
        conn.execute(statement, values)


WRITES = {
    "event": lambda text: facts("log", text)["ref"],
    "note": lambda text: facts("private", "write", "--project-notes", text)["refs"][0],
    "preference": lambda text: facts("private", "write", "--user-context", text)["refs"][0],
    "activity": lambda text: facts("timeline", "add", text)["ref"],
    "to-do": lambda text: facts("memory", "save", "todo", "--title", text)["ref"],
}


@pytest.mark.parametrize("kind", WRITES)
def test_an_entry_is_in_the_brief_until_it_is_edited_or_deleted(no_weights, kind):
    """Of each journal that a brief is made from, at once, and by whatever project's command."""
    ref = WRITES[kind]("TODO: paint the quay green")
    assert "quay green" in brief()
    elsewhere = ("--project", str(Path.home()))
    assert run("edit", ref, "TODO: paint the quay blue", *elsewhere).exit_code == 0
    assert holders("quay green") == []
    assert run("brief").exit_code == 0
    assert "quay blue" in brief()
    assert run("delete", ref, "--yes", *elsewhere).exit_code == 0
    assert holders("quay blue") == []
    assert "quay" not in brief()


HERE, THERE = ProjectFolders("/here", ("/here",)), ProjectFolders("/there", ("/there",))


@pytest.mark.parametrize(
    ("scope", "read"),
    [("user", [None]), ("project@here", [HERE]), ("project@there", []), ("", [None, HERE])],
)
def test_a_write_has_that_file_made_again_alone_which_tells_of_it(tmp_path, scope, read):
    """To read the notes of a project takes long, and a thought of the user's is none of them."""
    asked = []

    class Notes:
        def brief_items(self, project):
            asked.append(project)
            return [BriefItem(1.0, "The bell is cracked.", "private:a", "note")]

    keeper = BriefKeeper(
        BriefFiles(tmp_path),
        others=tuple,
        journals={"private": Notes()},
        project=lambda: HERE,
        project_at=lambda _journal, at: {"user": None, "project@here": HERE}.get(at, THERE),
        screen=str,
        ends=lambda _refs: {},
        replaced=lambda _refs: {},
        notice=lambda: "Two notes are gone.",
        now=lambda: 0.0,
        aside=False,
    )
    keeper.changed([Put(a_doc("private:a", "The bell.", journal="private", scope=scope))])
    keeper.close()
    assert asked == read
    assert BriefFiles(tmp_path).read("/here").notice == "Two notes are gone."


def test_what_is_edited_from_elsewhere_is_in_its_project_s_brief(no_weights, tmp_path):
    """The command of another project keeps that one's file too."""
    ref = facts("log", "painted the quay green")["ref"]
    note = facts("private", "write", "--project-notes", "The bell is cracked.")["refs"][0]
    here = Path.cwd()
    other = tmp_path / "other"
    other.mkdir()
    os.chdir(other)
    assert run("edit", ref, "painted the quay blue").exit_code == 0
    assert run("edit", note, "## Project Notes\n\nThe bell is mended.").exit_code == 0
    assert "quay blue" in brief(here)
    assert "bell is mended" in brief(here)
    assert "quay" not in brief()


def test_what_is_superseded_leaves_every_file():
    """The entry that took its place stands alone, also in a server's."""
    app = opened_app()
    try:
        ref = app.chronicle.service().add_entry(message="the gate opens at 6").facts["ref"]
        app.toolset("recall").tool("amend").call(
            {"ref": ref, "text": "the gate opens at 7", "supersede": True}
        )
        until(lambda: "opens at 7" in brief(), "the brief of what a server wrote")
        assert holders("opens at 6") == []
    finally:
        app.close()


def test_what_expires_is_shown_until_then(no_weights):
    """Each line says when; what is to stay after all is shown as before."""
    ref = facts("log", "the door opens with four seven", "--expires", "in 2 days")["ref"]
    files = BriefFiles(owner_folder())
    (line,) = files.read(
        find_root(read_quick(os.environ, str(Path.cwd())), str(Path.cwd()))
    ).lines()
    assert line.expires
    assert "four seven" in brief()
    files.set_end(ref, 1.0)
    assert "four seven" not in brief()
    facts("expire", ref, "--never")
    assert "four seven" in brief()


def test_what_another_program_wrote_is_in_it_after_the_next_filing(no_weights):
    """And what it deleted no more: each search files what is new."""
    facts("log", "rang the bell")
    facts("log", "painted the quay")
    assert run("recall", "bell").exit_code == 0
    beside("UPDATE entries SET message = 'tolled it' WHERE message = 'rang the bell'")
    beside("DELETE FROM entries WHERE message = 'painted the quay'")
    assert "tolled" not in brief()
    assert run("recall", "bell").exit_code == 0
    assert "tolled it" in brief()
    assert holders("rang the bell") == holders("painted the quay") == []


def test_what_another_program_deleted_before_it_was_filed_is_in_it_no_more(no_weights):
    """The index never held it, so no change of the index tells of it."""
    facts("log", "painted the quay")
    facts("private", "write", "--project-notes", "painted the bell")
    assert holders("painted")
    beside("DELETE FROM entries")
    shutil.rmtree(".private-journal")
    assert run("recall", "quay").exit_code == 0
    assert "painted" not in brief()
    assert holders("painted") == []


def test_a_pipe_in_the_place_of_its_file_keeps_nobody_waiting(no_weights):
    """A file takes its place."""
    facts("log", "painted the quay")
    (file,) = (owner_folder() / "brief").glob("*.json")
    file.unlink()
    os.mkfifo(file)
    facts("log", "rang the bell")
    assert "rang the bell" in brief()


def test_a_command_that_is_killed_before_it_kept_the_brief_is_made_up_for(no_weights):
    """What was acknowledged is in it after the next filing, and what was deleted is not."""
    ref = facts("log", "rang the bell")["ref"]
    assert run("recall", "bell").exit_code == 0
    killed_before("os.rename", ".json", "log", "painted the quay")
    assert "painted" not in brief()
    killed_before("os.rename", ".json", "delete", ref, "--yes")
    assert run("recall", "quay").exit_code == 0
    assert "painted the quay" in brief()
    assert holders("rang the bell") == []


def test_nothing_that_is_deleted_comes_back_by_a_reading_under_way(tmp_path):
    """Whoever deletes waits for it: the truth went first, so no later reading finds it."""
    files = BriefFiles(tmp_path)
    reading, may_end = threading.Event(), threading.Event()

    def read(_kept):
        reading.set()
        assert may_end.wait(PATIENCE_S)
        return [BriefItem(1.0, "rang the bell", "chronicle:1", "event")]

    refreshing = threading.Thread(
        target=files.refresh, args=(str(tmp_path), {"chronicle": read}, str)
    )
    refreshing.start()
    assert reading.wait(PATIENCE_S)
    dropping = threading.Thread(target=files.drop, args=(["chronicle:1"],))
    dropping.start()
    may_end.set()
    refreshing.join()
    dropping.join()
    assert [*files.read(str(tmp_path)).lines()] == []


def test_a_message_that_is_deleted_takes_what_quotes_it_along(no_weights):
    """A session's line says what was asked in it; the session itself stays told of."""
    app = opened_app()
    said = [
        sessions.said(n, f"asked for {x}", cwd=str(Path.cwd())) for n, x in ((1, "tea"), (3, "oil"))
    ]
    app.transcripts.store.append("claude-code", "s", said)
    app.close()
    assert run("brief").exit_code == 0
    assert "asked last: asked for oil" in brief()
    facts("delete", "transcripts:claude-code/s#2", "--yes")
    assert holders("oil") == []
    assert "began with: asked for tea" in brief()
    facts("delete", "transcripts:claude-code/s", "--yes")
    assert holders("tea") == []


def test_a_heading_that_may_not_leave_does_not_whatever_is_kept(monkeypatch):
    """The file may be older than the setting."""
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "all")
    facts("private", "write", "--feelings", "Afraid of storms.", "--user-context", "Likes tea.")
    assert "storms" in brief()
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "notes")
    assert "storms" not in brief()
    assert "Likes tea" in brief()
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "none")
    assert "tea" not in brief()


def test_no_secret_is_kept_in_it(monkeypatch):
    """Also of one that a journal holds in plain text."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    facts("log", f"the token is {TOKEN}")
    assert TOKEN in chronicle().read_bytes().decode("utf-8", "replace")
    assert "the token is" in brief()
    assert holders(TOKEN) == []


def test_what_a_killed_process_left_beside_a_file_goes_at_the_next_reading(tmp_path):
    """Half a brief holds words that no deletion would look for."""
    files = BriefFiles(tmp_path)
    files.refresh(str(tmp_path), {}, str)
    (tmp_path / "brief" / ".4711.tmp").write_text("half a brief")
    files.refresh(str(tmp_path), {}, str)
    assert [path.suffix for path in (tmp_path / "brief").iterdir()] == [".json"]


def test_its_files_are_bounded_and_the_owner_s_alone(tmp_path):
    """However long the entries are; what is newest stays."""
    os.umask(0o022)
    files = BriefFiles(tmp_path)
    long = [
        BriefItem(9.0 - n, f"{n}" + "x" * 50_000, f"private:user/{n}", "note") for n in range(9)
    ]
    files.refresh(EVERYWHERE, {"private": lambda _kept: long}, str)
    (path,) = (tmp_path / "brief").iterdir()
    assert path.stat().st_size < MOST_CHARACTERS + 2_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [line.text[0] for line in files.read(EVERYWHERE).lines()] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b'{"version":1}', b'{"version":2,"root":"","sections":{}}'],
)
def test_a_broken_or_newer_file_is_as_if_there_were_none(content):
    """It is made again by what makes one, and goes where a line in it may have to."""
    ref = facts("log", "rang the bell")["ref"]
    (path,) = (owner_folder() / "brief").iterdir()
    path.write_bytes(content + ref.encode())
    assert "no brief is made yet" in brief()
    assert run("brief").exit_code == 0
    assert "rang the bell" in brief()
    path.write_bytes(content + ref.encode())
    BriefFiles(owner_folder()).drop([ref])
    assert not path.exists()


def test_a_file_with_a_number_without_end_is_broken():
    """As one that is no JSON: a session begins without it, and it is made again."""
    facts("log", "rang the bell")
    (path,) = (owner_folder() / "brief").iterdir()
    path.write_text(re.sub(r'"at":[\d.]+', '"at":' + "9" * 400, path.read_text()))
    assert "no brief is made yet" in brief()
    assert run("brief").exit_code == 0
    assert "rang the bell" in brief()


def test_what_nobody_wants_is_not_kept(monkeypatch):
    """Where the brief is switched off nothing is written for it."""
    monkeypatch.setenv("COMMONPLACE_BRIEF_TOKENS", "0")
    facts("log", "rang the bell")
    assert not (owner_folder() / "brief").exists()


def test_a_server_s_start_makes_it(no_weights):
    """Before a model is loaded, of all journals: the next session begins with it."""
    write("--user-context", "Likes tea.")
    for path in (owner_folder() / "brief").iterdir():
        path.unlink()
    assert "no brief is made yet" in brief()
    app = opened_app()
    app.brief.refresh()
    app.close()
    assert "Likes tea." in brief()


def test_who_is_served_has_none_and_leaves_nothing_in_another_s(tmp_path):
    """What an owner's own commands kept loses what that owner deletes over HTTP."""
    facts("memory", "save", "todo", "--title", "call the pilot")
    (ref,) = (line.ref for line in BriefFiles(owner_folder()).read(EVERYWHERE).lines())
    settings = read_settings(environ=os.environ, cwd=Path.cwd(), home=Path.home())
    apps = Apps(settings, user_home=Path.home())
    with apps.using("ann") as app:
        app.chronicle.service().add_entry(message="rang the bell")
        assert not (app.folder / "brief").exists()
    with apps.using("me") as app:
        app.toolset("recall").tool("amend").call({"ref": ref, "delete": True})
    apps.close()
    assert holders("pilot") == []


def test_a_markdown_tree_is_told_of_as_a_database_is(tmp_path, monkeypatch):
    """And so is what superseded an entry of it."""
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setenv("CHRONICLE_DB_PATH", str(tree))
    old = facts("log", "the gate opens at 6")["ref"]
    facts("log", "the gate opens at 7", "--supersedes", old)
    assert "opens at 7" in brief()
    assert "opens at 6" not in brief()


def test_to_dos_that_lie_in_postgres_are_told_of(database, monkeypatch):
    """No hook waits for a database: what was saved in it is kept beside it."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    ref = facts("memory", "save", "todo", "--title", "call the pilot")["ref"]
    assert "call the pilot" in brief()
    monkeypatch.delenv("COMMONPLACE_DATABASE_URL")
    assert "call the pilot" in brief()
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    assert run("delete", ref, "--yes").exit_code == 0
    assert holders("pilot") == []


def test_a_day_that_quotes_what_is_deleted_elsewhere_leaves_at_once(no_weights, monkeypatch):
    """An entry of a journal that feeds the timeline, though the day's line has another ref."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_FEED", "chronicle")
    ref = facts("log", "painted the quay green")["ref"]
    assert run("rollup", "--due").exit_code == 0
    facts("timeline", "add", "mended a bell")
    assert run("brief").exit_code == 0
    assert "everywhere.json" in holders("quay green")
    assert run("delete", ref, "--yes", "--project", str(Path.home())).exit_code == 0
    assert holders("quay green") == []
    assert "mended a bell" in run("brief").output
    assert "quay green" not in run("brief").output


def test_a_day_s_line_is_over_when_what_it_may_quote_expires(no_weights):
    """Whether the entry was to expire before the line was kept, or is only then."""
    ref = facts("timeline", "add", "mended a bell")["ref"]
    files = BriefFiles(owner_folder())

    def ends():
        (line,) = files.read(EVERYWHERE).sections["timeline"]
        return line.expires

    lasts = ends()
    assert run("expire", ref, "in 2 hours").exit_code == 0
    soon = ends()
    assert soon < lasts - 86_400
    facts("timeline", "add", "painted the quay")
    assert ends() == soon
    assert run("expire", ref, "--never").exit_code == 0
    assert run("brief").exit_code == 0
    assert ends() == lasts
