"""The page of health and settings, and the doctor on it."""

from __future__ import annotations

import os

from tests.doors.web.test_entry import form_of
from tests.doors.web.web_world import words_of


def test_what_each_journal_holds(world, browser):
    """With the index, the disk and the settings."""
    world.call("chronicle", "add_entry", message="deployed")
    words = words_of(browser.get("/health"))
    assert "chronicle 1" in words
    assert "Free on the disk" in words
    assert "COMMONPLACE_TIMEZONE" in words


def test_secrets_among_settings_are_not_shown(words_only, monkeypatch):
    """Only that they are set."""
    from tests.doors.web.web_world import WebWorld

    monkeypatch.setenv("COMMONPLACE_SECRETS_OWN", '["Kestrel-Seven"]')
    world = WebWorld()
    page = world.browser().get("/health")
    assert page.status_code == 200
    assert "Kestrel-Seven" not in page.text
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
