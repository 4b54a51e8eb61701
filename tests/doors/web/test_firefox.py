"""The pages in Firefox: Debian's own, driven by WebDriver BiDi; the same walk as in Chromium."""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.doors.web import test_browser
from tests.doors.web.test_browser import (
    ASKED,
    AXE,
    FIGURES,
    LISTED,
    MS,
    TIMES,
    fill,
    journals,
    log,
    serve,  # noqa: F401  a fixture
)
from tests.patience import PATIENCE_S

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
TOOLS = AXE.parents[1]
WALK = Path(__file__).with_name("firefox.mjs")

pytestmark = [
    *test_browser.pytestmark,
    pytest.mark.skipif(
        not FIREFOX, reason="No Firefox is here: `apt-get install firefox-esr` brings it."
    ),
    pytest.mark.skipif(
        not (TOOLS / "puppeteer-core").exists(), reason="`make test-browser` installs its driver."
    ),
]


@pytest.mark.parametrize("dark", [False, True])
def test_the_pages_in_firefox(serve, tmp_path, dark):
    """No page is wider than the window, axe finds nothing, nothing is said to the console; by keys."""
    fill(100)
    with journals() as app:
        for name in ("first", "second"):
            log(app, f"The {name} berth was moved to the northern quay")
    served = serve()
    given = {
        "firefox": FIREFOX,
        "tools": str(TOOLS),
        "profile": str(tmp_path),
        "link": served.link,
        "paths": [*LISTED, *ASKED, *TIMES, *FIGURES, "/notebook/section?name=api/errors"],
        "widths": [390, 1440],
        "dark": dark,
        "patience_ms": MS,
    }
    walked = subprocess.run(
        ["node", str(WALK), json.dumps(given)],
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE_S,
    )
    assert walked.returncode == 0, walked.stderr
    assert walked.stdout.splitlines() == []
