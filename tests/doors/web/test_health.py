"""The page of health, and the doctor on it."""

from __future__ import annotations

import html
import io
import os
import re
import zipfile
from pathlib import Path

from starlette.testclient import TestClient
from tests.doors.web.test_entry import form_of
from tests.doors.web.web_world import ADDRESS, WebWorld, aside_of, csrf_of, words_of, words_of_html

from commonplace.doors.last_examination import examine_if_due, find_examination

NAMES = ["Journals", "Search", "Assistants", "Backup", "Disk", "Problems"]


def lines_of(page):
    """The lines of health: what each is called, what it says, and what asks something."""
    rows = re.search(r'class="rows named">(.*?)</ul>', page.text, re.DOTALL)[1]
    found = re.findall(r"<li(.*?)><strong>(.*?)</strong>(.*?)</li>", rows, re.DOTALL)
    return {name: ("asks" in asks, words_of_html(said)) for asks, name, said in found}


def test_health_is_six_lines(world, browser):
    """Each says in words that it is fine, or what to do; figures are in the fold."""
    world.call("chronicle", "add_entry", message="deployed")
    page = browser.get("/health")
    lines = lines_of(page)
    assert [*lines] == NAMES
    assert lines["Journals"] == (False, "1 journal with 1 entry. fine")
    assert lines["Backup"] == (True, "None was made yet. Download one below.")
    assert lines["Problems"] == (False, "Nobody has looked yet. Look now")
    assert "chronicle 1 1 12:00" in words_of(page)


def test_health_after_a_backup_and_a_look(world, browser):
    """The lines say when, and that it is long ago."""
    world.call("chronicle", "add_entry", message="deployed")
    browser.post("/health/backup", data={"csrf": csrf_of(browser)})
    os.chmod(world.app.settings.home, 0o755)
    browser.get("/health/doctor")
    lines = lines_of(browser.get("/health"))
    assert lines["Backup"] == (False, "The last one was made today. fine")
    assert lines["Problems"][0]
    assert "found at 12:00. See them, and what repairs them." in lines["Problems"][1]
    world.clock.advance(31 * 86_400)
    lines = lines_of(browser.get("/health"))
    assert lines["Backup"] == (True, "The last one was made 31 days ago. Download a new one below.")


def test_health_names_a_journal_that_cannot_be_read(words_only):
    """With the reason, in its line."""
    config = Path.home() / ".config" / "chronicle" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text("{broken", "utf-8")
    world = WebWorld()
    world.call("private", "process_thoughts", feelings="The harbour is quiet.")
    asks, said = lines_of(world.browser().get("/health"))["Journals"]
    assert asks
    assert said.startswith("1 journal with 1 entry. chronicle: ")
    assert "config.json" in said
    world.close()


def test_the_doctor(world, browser):
    """Names a problem, repairs it, and then finds nothing of it."""
    world.call("chronicle", "add_entry", message="deployed")
    home = world.app.settings.home
    os.chmod(home, 0o755)
    page = browser.get("/health/doctor")
    assert "can be read by other users of this machine" in words_of(page)
    done = browser.post("/health/repair", data=form_of(page))
    words = words_of(browser.get(done.headers["location"]))
    assert "Repaired, folders" in words
    assert home.stat().st_mode & 0o077 == 0


def test_a_backup_as_a_download(world, browser):
    """A whole one, of which nothing stays behind in the home."""
    world.call("chronicle", "add_entry", message="deployed")
    answer = browser.post("/health/backup", data={"csrf": csrf_of(browser)})
    assert (
        answer.headers["content-disposition"] == 'attachment; filename="commonplace-2026-11-23.zip"'
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as held:
        assert held.testzip() is None
        assert any("chronicle" in name for name in held.namelist()), held.namelist()
    assert [*world.app.scratch_folders.folder.iterdir()] == []


def test_an_export_as_a_download(world, browser):
    """A whole one, of which nothing stays behind, and which forgetting names; and what it lacks."""
    world.call("chronicle", "add_entry", message="deployed")
    (world.app.settings.home / "users" / "ann").mkdir()
    answer = browser.post("/health/export", data={"csrf": csrf_of(browser)})
    named = 'attachment; filename="commonplace-export-2026-11-23.zip"'
    assert answer.headers["content-disposition"] == named
    with zipfile.ZipFile(io.BytesIO(answer.content)) as held:
        assert b"deployed" in held.read("chronicle/entries.jsonl")
    assert [*world.app.scratch_folders.folder.iterdir()] == []
    assert [made.kind for made in world.app.copies().each()] == ["export"]
    assert "Not included: The journals of ann: export them with --owner." in html.unescape(
        browser.get("/health").text
    )


def test_a_download_has_no_name_once_it_is_sent(world, browser):
    """So nothing of it stays behind, however the server ends meanwhile."""
    csrf, seen = csrf_of(browser), []

    async def watched(scope, receive, send):
        async def noted(message):
            seen.extend(world.app.scratch_folders.folder.iterdir())
            await send(message)

        await world.pages(scope, receive, noted)

    downloading = TestClient(
        watched, base_url=ADDRESS, headers={"origin": ADDRESS}, cookies=dict(browser.cookies)
    )
    answer = downloading.post("/health/backup", data={"csrf": csrf})
    assert int(answer.headers["content-length"]) == len(answer.content) > 0
    assert seen == []


def test_the_brief_of_the_folder_stands_on_the_first_page(world, browser):
    """As a session that begins there now is told it."""
    assert "What the next session is told" not in words_of(browser.get("/"))
    world.call("chronicle", "add_entry", message="deployed the harbour")
    words = words_of(browser.get("/"))
    told = words.partition("What the next session is told")[2]
    assert "Done here last 12:00 deployed the harbour Correct" in told


def test_what_the_doctor_found_stands_on_the_first_page(world, browser):
    """With the time of the look, until another finds nothing; the page itself does not look."""
    world.call("chronicle", "add_entry", message="deployed")
    home = world.app.settings.home
    os.chmod(home, 0o755)
    assert "commonplace doctor found" not in aside_of(browser.get("/"))
    found = browser.get("/health/doctor").text.count('class="warning"')
    problems = "1 problem" if found == 1 else f"{found} problems"
    words = aside_of(browser.get("/"))
    assert f"commonplace doctor found {problems} at 12:00." in words
    assert "can be read by other users" in words
    os.chmod(home, 0o700)
    browser.get("/health/doctor")
    assert "can be read by other users" not in aside_of(browser.get("/"))


def test_a_look_is_due_once_a_day(world):
    """Not before anything is kept; a broken file of it, or one of the future, is looked over."""
    assert not examine_if_due(world.app)
    world.call("chronicle", "add_entry", message="deployed")
    assert examine_if_due(world.app)
    assert not examine_if_due(world.app)
    world.clock.advance(25 * 3600)
    assert examine_if_due(world.app)
    assert find_examination(world.app).at == world.app.clock()
    world.clock.advance(-3600)
    assert examine_if_due(world.app)
    kept = world.app.folder / "doctor.json"
    assert kept.stat().st_mode & 0o077 == 0
    for broken in (b"", b"{}", b'{"at": 3}', b"\xff"):
        kept.write_bytes(broken)
        assert find_examination(world.app) is None
        assert examine_if_due(world.app)


def test_a_look_that_cannot_be_kept_is_shown_all_the_same(world, browser):
    """In the way of its file lies a folder."""
    world.call("chronicle", "add_entry", message="deployed")
    (world.app.folder / "doctor.json").mkdir()
    assert browser.get("/health/doctor").status_code == 200
    assert browser.get("/").status_code == 200
