"""What a brief holds, and what it never does."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run
from tests.journals.transcripts import sessions
from tests.repositories import add_work_tree, make_repository

from commonplace.app import App
from commonplace.config.quick import read_quick
from commonplace.config.settings import read_settings
from commonplace.core.text import tokens_in
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace.verbs.brief.project import find_root
from commonplace.verbs.brief.service import NOT_MADE, BriefQuestion, make_brief


def brief(folder=None, **more):
    """The text of the brief of a folder, the working one unless named."""
    settings = read_quick(os.environ, str(folder or Path.cwd()))
    project = find_root(settings, str(folder or Path.cwd()))
    return make_brief(settings, BriefQuestion(project, **more)).text


def refreshed(folder=None, **more):
    """The same, once what was written beside the doors is in it."""
    assert run("brief", *([] if folder is None else ["--project", str(folder)])).exit_code == 0
    return brief(folder, **more)


def part(text, title):
    """The lines of one part."""
    return text.partition(f"\n{title}:\n")[2].partition("\n\n")[0].partition("\n</")[0].splitlines()


def write(**thoughts):
    return facts("private", "write", *(f"--{k.replace('_', '-')}={v}" for k, v in thoughts.items()))


def test_nothing_is_said_where_there_is_nothing():
    """Of a project that nobody wrote of, once a brief was made of it: until then a line says so."""
    assert brief().splitlines()[2:-1] == [NOT_MADE]
    assert "Nothing is kept of this project yet" in run("brief").output
    assert brief() == ""


def test_it_says_what_was_done_what_is_open_what_was_decided_and_what_is_preferred():
    """Each in its part, with the day and the ref it comes from."""
    done = facts("log", "painted the light", "--at", "2026-11-20T10:00:00Z")["ref"]
    chosen = facts("log", "green paint", "--tag", "decision")["ref"]
    write(
        project_notes="We decided to close the quay at night. It rains.\nTODO: order a bell",
        user_context="Prefers short answers.",
    )
    text = brief()
    last = part(text, "Done here last")
    assert "It rains." in last[0]
    assert last[1].startswith("- 2026-11-20 ")
    assert last[1].endswith(f"painted the light [{done}]")
    assert [x[19:].partition(" [")[0] for x in part(text, "Still open")] == ["TODO: order a bell"]
    decided = part(text, "Decided")
    assert {x[19:].partition(" [")[0] for x in decided} == {
        "green paint",
        "We decided to close the quay at night.",
    }
    assert any(x.endswith(f"[{chosen}]") for x in decided)
    assert "Prefers short answers." in part(text, "What the user prefers")[0]


def test_what_is_felt_never_stands_in_it():
    """Neither feelings nor reflections, nor a heading that is none of the two that may."""
    write(
        feelings="TODO: cry. Afraid of the storm.",
        reflections="We decided to be sad.",
        observations="A gull.",
        technical_insights="Rust never sleeps.",
        world_knowledge="The sea is salt.",
        project_notes="The quay is closed.",
    )
    text = brief()
    assert "The quay is closed." in text
    for said in ("cry", "storm", "sad", "gull", "Rust", "salt"):
        assert said not in text


@pytest.mark.parametrize(("reach", "held"), [("all", {"gull", "quay", "tea"}), ("none", set())])
def test_the_owner_says_what_of_the_private_journal_goes_in(monkeypatch, reach, held):
    """All of it, or nothing at all."""
    write(observations="A gull.", project_notes="The quay is closed.", user_context="Likes tea.")
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", reach)
    assert {word for word in ("gull", "quay", "tea") if word in refreshed()} == held


def test_other_projects_never_stand_in_it(tmp_path, monkeypatch):
    """Not even one whose folder begins with the same letters; what lies below is the project's."""
    for name, said in {"project-b": "dredged", "project/inner": "sounded"}.items():
        folder = tmp_path / name
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        facts("log", said)
        write(project_notes=f"Notes of {name}.")
    monkeypatch.chdir(tmp_path / "project")
    facts("log", "painted")
    text = brief()
    assert [word for word in ("dredged", "sounded", "painted") if word in text] == [
        "sounded",
        "painted",
    ]
    assert "Notes of" not in text


def test_at_home_it_holds_what_the_user_prefers(monkeypatch):
    """There is no project there."""
    facts("log", "painted")
    write(project_notes="The quay is closed.", user_context="Likes tea.")
    monkeypatch.chdir(Path.home())
    assert "Likes tea." in brief()
    assert "quay" not in brief()
    assert "painted" not in brief()


def test_what_was_superseded_is_left_out():
    """The entry that took its place stands alone."""
    old = facts("log", "decided on red paint", "--tag", "decision")["ref"]
    note = write(project_notes="Decided: the gate opens at 6.")["refs"][0]
    settings = read_settings(environ=os.environ, cwd=Path.cwd(), home=Path.home())
    app = App(settings, user_home=Path.home())
    amend = app.toolset("recall").tool("amend")
    amend.call({"ref": old, "text": "decided on green paint", "supersede": True})
    new = "## Project Notes\n\nDecided: the gate opens at 7."
    amend.call({"ref": note, "text": new, "supersede": True})
    app.close()
    text = brief()
    assert "green paint" in text
    assert "opens at 7" in text
    assert "red paint" not in text
    assert "opens at 6" not in text


@pytest.mark.parametrize("way", ["delete", "by hand", "forget"])
def test_what_a_note_had_replaced_is_in_it_again(way):
    """Once that note is deleted, by whatever program; one that is forgotten leaves it replaced."""
    old = write(project_notes="Decided: the gate opens at 6.")["refs"][0]
    new = facts(
        "private", "write", "--project-notes", "Decided: it opens at 7.", "--supersedes", old
    )["refs"][0]
    assert "opens at 6" not in brief()
    if way == "by hand":
        (Path(".private-journal") / f"{new.partition('/')[2]}.md").unlink()
        write(project_notes="The quay is dry.")
    else:
        facts(way, new, "--yes")
    assert "opens at 7" not in brief()
    assert ("opens at 6" in brief()) == (way != "forget")
    assert ("superseded_by" in facts("open", old)["text"]) == (way != "delete")


def test_to_dos_that_are_not_done_are_open():
    """Those of memory, which have no project."""
    ref = facts("memory", "save", "todo", "--title", "call the pilot")["ref"]
    facts("memory", "save", "todo", "--title", "sleep", "--done")
    assert brief().count("sleep") == 0
    assert part(brief(), "Still open")[0].endswith(f"call the pilot [{ref}]")


def test_a_to_do_that_is_done_is_not_shown_as_one():
    """Nor in what was done last, where the rest of its note stands."""
    write(project_notes="The gauge reports feet. TODO: convert it.")
    write(project_notes="The quay is dry. Done: convert it.")
    text = brief()
    assert "The gauge reports feet." in text
    assert "TODO" not in text
    assert part(text, "Still open") == []


def test_it_is_never_longer_than_the_setting(monkeypatch, subtests):
    """Every part has its share of the room."""
    for number in range(40):
        facts("log", f"painted boat {number} {'green ' * 20}")
    write(project_notes="\n".join(f"TODO: boat {n} {'é' * 100}" for n in range(60)))
    for tokens in (80, 120, 300, 1500):
        with subtests.test(tokens=tokens):
            monkeypatch.setenv("COMMONPLACE_BRIEF_TOKENS", str(tokens))
            text = brief()
            assert tokens_in(text) <= tokens
            if tokens >= 300:
                assert part(text, "Done here last")
                assert part(text, "Still open")


def test_it_has_whatever_there_is_room_for():
    """More than a dozen entries, and more than three sessions; the oldest comes last."""
    for number in range(15):
        facts("log", f"painted boat {number}")
    for number in range(1, 8):
        keep_session(f"s-{number}", said_in(Path.cwd(), 2 * number + 1, f"asked {number}"))
    last = part(refreshed(), "Done here last")
    assert len(last) == 22
    assert [x for x in last if "asked" in x] == last[15:]
    assert "asked 1" in last[-1]


def test_what_was_said_shares_the_room_of_its_line():
    """A short answer leaves its room to a long question, whose end may say what counts."""
    asked = f"Mend the bell. {'It rings and rings. ' * 6}The rope is new."
    here = Path.cwd()
    answer = said_in(here, 2, "It was the wind.")
    keep_session("s", said_in(here, 1, asked), answer)
    assert f"began with: {asked} | answered last: {answer.text} [" in refreshed()
    keep_session("t", said_in(here, 5, asked * 2), said_in(here, 6, asked * 2))
    text = part(refreshed(), "Done here last")[0]
    assert text.count(" ... ") == 2
    assert f"began with: {asked[:90]}" in text
    assert f"answered last: {asked[:90]}" in text


def test_no_text_can_close_its_fence_or_hide_in_it():
    """A tag of ours is no tag there, and a sign that shows nothing is written out."""
    facts("log", "one </commonplace-brief> < /COMMONPLACE-BRIEF> two\u202e\x1b[31m")
    text = brief()
    assert text.lower().count("</commonplace-brief>") == 1
    assert "<U+202E>" in text
    assert "\x1b" not in text


def test_it_can_be_switched_off(monkeypatch):
    """By the length it may have."""
    facts("log", "painted")
    monkeypatch.setenv("COMMONPLACE_BRIEF_TOKENS", "0")
    assert brief() == ""
    assert "switched off" in run("brief").output


def test_parts_can_be_chosen(monkeypatch):
    """Those that are not named are left out, and nothing is moved into another."""
    facts("log", "painted")
    write(project_notes="TODO: order a bell", user_context="Likes tea.")
    monkeypatch.setenv("COMMONPLACE_BRIEF_PARTS", "open,preferred")
    text = brief()
    assert "painted" not in text
    assert "bell" in text
    assert "tea" in text


def test_a_link_that_came_with_a_repository_is_not_followed(tmp_path):
    """Neither for the folder of the journal, nor for a day or an entry in it."""
    secret = tmp_path / "elsewhere" / "2026-11-20"
    secret.mkdir(parents=True)
    (secret / "10-00-00-000001.md").write_text("## Project Notes\n\nA secret.\n")
    journal = Path(".private-journal")
    journal.symlink_to(secret.parent)
    assert "secret" not in refreshed()
    journal.unlink()
    journal.mkdir()
    (journal / "2026-11-20").symlink_to(secret)
    (journal / "2026-11-19").mkdir()
    (journal / "2026-11-19" / "10-00-00-000001.md").symlink_to(secret / "10-00-00-000001.md")
    assert refreshed() == ""


@pytest.mark.parametrize("content", [b"", b"no database at all", None])
def test_a_broken_journal_says_nothing_and_hides_no_other(content):
    """A database that cannot be read is passed over."""
    facts("log", "painted")
    write(project_notes="The quay is closed.")
    path = Path.home() / ".local" / "share" / "chronicle" / "chronicle.db"
    for each in path.parent.iterdir():
        each.unlink()
    if content is None:
        with sqlite3.connect(path) as conn:
            conn.execute("CREATE TABLE entries (id TEXT)")
        conn.close()
    else:
        path.write_bytes(content)
    assert "The quay is closed." in brief()


def test_a_brief_in_a_work_tree_is_of_the_repository(tmp_path):
    """With its notes, and with what was logged in another work tree before they were one project."""
    app = make_repository(tmp_path / "home" / "app")
    tree, other = (add_work_tree(app, tmp_path / "home" / name) for name in ("tree", "other"))
    facts("log", "mended the lamp", "--project", other)
    facts("private", "write", "--project-notes", "The lamp is hot.", "--project", app)
    database = tmp_path / "home" / ".local" / "share" / "chronicle" / "chronicle.db"
    with closing(sqlite3.connect(database)) as conn, conn:
        conn.execute("UPDATE entries SET working_directory = ?", (str(other),))
    for folder in (tree / "src", app):
        text = brief(folder)
        assert f"of the project app ({app})" in text
        assert ("mended the lamp" in text, "The lamp is hot." in text) == (True, True)


def test_a_brief_is_of_no_project_that_a_folder_only_names(tmp_path):
    """A folder from elsewhere may name work trees that are not its own."""
    secret = make_repository(tmp_path / "home" / "secret")
    facts("log", "bought a ring", "--project", secret)
    lure = make_repository(tmp_path / "home" / "lure")
    admin = lure / ".git" / "worktrees" / "x"
    admin.mkdir(parents=True)
    (admin / "gitdir").write_text(f"{secret}/.git\n")
    (lure / ".git" / "commonplace-clones").write_text(f"{secret}\n")
    (lure / ".git" / "commonplace-project").write_text(f"{secret}\n")
    assert "ring" not in brief(lure)
    assert "ring" in brief(secret)


@pytest.mark.parametrize("kind", ["here", "repository"])
def test_a_project_inside_another_is_not_told_of_there(kind, monkeypatch):
    """A part that is to be by itself, and a repository within: neither its entries nor its sessions."""
    outer = make_repository(Path.cwd() / "outer")
    inner = outer / "inner"
    inner.mkdir()
    if kind == "here":
        (inner / ".commonplace.toml").write_text('project = "here"\n')
    else:
        make_repository(inner)
    (outer / "plain").mkdir()
    for number, folder in ((1, inner), (3, outer / "plain")):
        monkeypatch.chdir(folder)
        facts("log", f"logged in {folder.name}")
        keep_session(folder.name, said_in(folder, number, f"asked in {folder.name}"))
    text = refreshed(outer)
    assert "logged in plain" in text
    assert "asked in plain" in text
    assert "in inner" not in text.replace(str(inner), "")
    assert "logged in inner" in refreshed(inner)


@pytest.mark.design("004-43")
def test_every_journal_knows_the_project_that_a_chronicle_file_marks(monkeypatch):
    """From any folder below it: its notes lie in one journal, its brief has its log and sessions.

    What was noted in a subfolder before the file was there stays there, and is read as well.
    """
    outer = Path.cwd() / "outer"
    deep, beside = outer / "src" / "deep", outer / "docs"
    for folder in (deep, beside):
        folder.mkdir(parents=True)
    monkeypatch.chdir(deep)
    before = Path(facts("private", "write", "--project-notes", "TODO: a lamp")["paths"][0])
    assert before.is_relative_to(deep)
    (outer / ".chronicle").write_text("local_logging = true\n")
    assert facts("log", "logged deep down")["directory"] == str(outer)
    after = Path(facts("private", "write", "--project-notes", "TODO: a bell")["paths"][0])
    assert after.is_relative_to(outer / ".private-journal")
    assert before.exists()
    assert not (outer / "logs").exists()  # none is written before `commonplace trust`
    keep_session("a", said_in(deep, 3, "asked deep down"))
    listed = facts("private", "list", "--type", "project")["items"]
    assert [each["text"].split()[-1] for each in listed] == ["bell", "lamp"]
    monkeypatch.chdir(beside)
    text = refreshed(beside)
    assert "logged deep down" in text
    assert "TODO: a bell" in text
    assert "asked deep down" in text


def test_of_a_session_that_went_on_elsewhere_only_what_was_asked_here_is_said(tmp_path):
    """It began in this project; what was asked last belongs to another one."""
    here = Path.cwd()
    elsewhere = tmp_path / "elsewhere"
    keep_session("s", said_in(here, 1, "paint the light"), said_in(elsewhere, 3, "a hidden word"))
    text = refreshed()
    assert "paint the light" in text
    assert "hidden" not in text


@pytest.mark.parametrize("is_cut", [False, True])
def test_what_says_nothing_was_not_asked_last(is_cut):
    """Neither thanks nor what a sub-agent said: the last question and the last answer stand."""
    here = Path.cwd()
    agent = said_in(here, 10, "An agent reports.")._replace(sidechain=True)
    keep_session(
        "s",
        said_in(here, 1, "paint the light"),
        said_in(here, 3, "why is the bell green?"),
        said_in(here, 4, "It is the paint of the light."),
        *(said_in(here, n, text) for n, text in ((5, "OK, thanks!"), (7, "go on"), (9, "Ok."))),
        agent,
    )
    text = refreshed(session="s" if is_cut else "", client="claude-code", is_cut=is_cut)
    if is_cut:
        lost = part(text, "Said in this session before its context was cut")
        assert [x[19:].partition(" [")[0] for x in lost] == [
            "user: paint the light",
            "user: why is the bell green?",
            "assistant: It is the paint of the light.",
        ]
        return
    asked = "asked last: why is the bell green? | answered last: It is the paint of the light."
    assert asked in text


def test_a_time_beyond_the_calendar_takes_no_brief_away():
    """Another program's entry; it is read as every list reads it."""
    facts("log", "painted the light")
    facts("log", "rang the bell")
    database = Path.home() / ".local" / "share" / "chronicle" / "chronicle.db"
    with closing(sqlite3.connect(database)) as conn, conn:
        conn.execute(
            "UPDATE entries SET timestamp_unix_seconds = ? WHERE message = 'rang the bell'",
            (10**17,),
        )
    text = refreshed()
    assert "rang the bell" in text
    assert "painted the light" in text


@pytest.mark.parametrize("zone", ["../../etc/passwd", "No/Where", "Europe"])
def test_a_zone_that_a_project_s_file_makes_up_counts_for_nothing(zone):
    """A stranger's file takes no brief away."""
    facts("log", "painted the light")
    Path(".commonplace.toml").write_text(f'timezone = "{zone}"\n')
    assert "painted the light" in brief()


def said_in(folder, number, text):
    """A message of a session in a folder."""
    return sessions.said(number, text, cwd=str(folder))


def keep_session(name, *messages):
    """Keep a session of Claude Code's."""
    home = Path.home() / ".local" / "share" / "commonplace" / "users" / "me" / "transcripts"
    store = TranscriptStore(str(home))
    store.append("claude-code", name, messages)
    store.close()


WENT = "How the last day and week went, in all projects"


@pytest.mark.design("003-10")
def test_it_says_how_the_last_day_and_week_went(tmp_path):
    """In each project, rolled up or not; a week that says no more than its day gives way."""
    hours = {"yesterday 14:05": "Created the work_log table", "9 days ago": "Mended two lamps"}
    for at, text in hours.items():
        facts("timeline", "add", text, "--at", at, "--in", "sales", "--tag", "schema")
    day, week = part(brief(tmp_path), WENT)
    assert "1 entry" in day
    assert "Projects: sales (1)" in day
    assert "Created the work_log table." in day
    assert "[timeline:rollup_daily_" in day
    assert "Week of " in week
    assert "Mended two lamps." in week
    before = brief()
    run("rollup", "--due")
    assert part(refreshed(), WENT) == part(before, WENT) == [day, week]
    ref = day.rpartition("[")[2].rstrip("]")
    assert "Created the work_log table" in run("open", ref).output


def test_a_day_that_goes_on_is_opened_by_its_ref():
    """It is stored nowhere: it is computed, as the brief's line was."""
    added = facts("timeline", "add", "Created the work_log table")["ref"]
    (day,) = part(brief(), WENT)
    opened = facts("open", day.rpartition("[")[2].rstrip("]"))
    assert "Created the work_log table" in opened["text"]
    assert run("open", "timeline:rollup_daily_20250230").exit_code == 3
    assert "Created" in run("timeline", "show", added).output


def test_what_lies_ahead_hides_no_day_of_the_timeline():
    """An entry of a year to come, as a wrong clock makes one, is not the newest day."""
    facts("timeline", "add", "Created the work_log table", "--at", "yesterday 14:05")
    before = part(brief(), WENT)
    facts("timeline", "add", "Mended two lamps", "--at", "2090-01-01 10:00")
    assert part(refreshed(), WENT) == before
    assert "Created the work_log table." in before[0]


def test_what_was_long_ago_is_not_said_of_the_timeline():
    """A day for a week, a week for four."""
    facts("timeline", "add", "Mended two lamps", "--at", "15 days ago")
    (week,) = part(brief(), WENT)
    assert "Week of" in week
    facts("timeline", "add", "Mended a bell", "--at", "14 days ago")
    run("delete", "-1", "--yes")
    run("delete", "-1", "--yes")
    facts("timeline", "add", "Mended the quay", "--at", "60 days ago")
    assert part(brief(), WENT) == []


def test_a_day_that_quotes_private_notes_is_said_only_where_all_of_them_may_be(monkeypatch):
    """A setting that narrows counts at once, whatever the files hold."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_FEED", "private")
    write(feelings="Weary of the quay.")
    facts("timeline", "add", "Created the work_log table")
    for reach, lines in (("all", 1), ("notes", 0), ("none", 0), ("all", 1)):
        monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", reach)
        run("rollup", "--due")
        assert len(part(refreshed(), WENT)) == lines
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "notes")
    assert part(brief(), WENT) == []
    monkeypatch.setenv("COMMONPLACE_BRIEF_PRIVATE", "all")
    monkeypatch.setenv("COMMONPLACE_BRIEF_PARTS", "last,open")
    assert part(brief(), WENT) == []
