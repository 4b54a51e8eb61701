"""Takes the pictures of the pages in the docs: a year that a fixed seed wrote, in Chromium.

Times are those of the run, so nothing checks the pictures; `make docs-pictures` takes them again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import sync_playwright

from commonplace.app import App
from commonplace.config.settings import read_settings

ROOT = Path(__file__).parent.parent
WIDTH, HEIGHT = 1280, 800
ENTRIES = 420
DID = (
    "Deployed",
    "Fixed a race in",
    "Rewrote",
    "Measured",
    "Reviewed",
    "Wrote tests for",
    "Documented",
)
WHAT = (
    *("the exporter", "the login form", "billing", "the search box", "staging", "the nightly job"),
    *("the migration", "the release notes"),
)
WHY = ("it was slow", "the cache had kept old wheels", "as agreed on Monday", "a test had failed")
THOUGHTS = (
    (
        "# Why we left Postgres\n\nThe team moved the local index to **SQLite**:\n\n"
        "- one file that a user owns\n- no server to keep\n\nSearches take 10 ms now."
    ),
    "Short answers and plain words are preferred; examples before rules.",
)


def main() -> None:
    """Write the year, start the command, and take each picture."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "harbour"
        home.mkdir()
        os.environ |= {
            "HOME": str(home),
            "COMMONPLACE_HOME": str(home / "commonplace"),
            "COMMONPLACE_TIMEZONE": "UTC",
            "COMMONPLACE_TIMELINE_FEED": "chronicle",
        }
        os.chdir(home)
        _write_a_year(home)
        command = [sys.executable, "-m", "commonplace", "web", "--no-open", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            text = ""
            while not text.endswith("}\n"):
                text += process.stdout.readline()
            try:
                _take(json.loads(text)["url"])
            finally:
                process.kill()


def _write_a_year(home: Path) -> None:
    chance = random.Random(7)  # noqa: S311  a seed is the point
    app = App(read_settings(cwd=home, home=home), user_home=home)
    now = datetime.now(UTC)
    log = app.toolset("chronicle").tool("add_entry")
    for _ in range(ENTRIES):
        at = now - timedelta(days=chance.random() ** 1.4 * 350, hours=chance.random() * 9)
        message = f"{chance.choice(DID)} {chance.choice(WHAT)}: {chance.choice(WHY)}"
        tags = chance.sample(["release", "bug", "docs"], chance.randint(0, 2))
        log.call({"message": message, "tags": tags, "at": at.isoformat()})
    think = app.toolset("private").tool("process_thoughts")
    for thought in THOUGHTS:
        think.call({"project_notes": thought})
    app.timeline_commands().roll_up()
    app.encoder.start()
    app.encoder.get(60)
    app.filing.catch_up()
    app.close()


def _take(link: str) -> None:
    base = link.partition("/enter")[0]
    month = f"{datetime.now(UTC) - timedelta(days=30):%Y-%m}"
    pages = {
        "home": ("/", "light"),
        "search": ("/search?q=why+did+we+leave+postgres", "light"),
        "calendar": (f"/calendar/{month}", "dark"),
    }
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(link)
        for name, (path, scheme) in pages.items():
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.goto(base + path)
            for summary in page.locator("details.why > summary").all()[:1]:
                summary.click()
            page.screenshot(path=ROOT / "docs" / f"web-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
