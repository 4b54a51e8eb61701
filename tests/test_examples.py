"""The examples of the README and the docs, run as a reader would type them."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    page.relative_to(ROOT)
    for page in runpy.run_path(str(ROOT / "scripts" / "pages.py"))["PAGES"]
    if re.search(r"^`{3,}(console|python)$", page.read_text("utf-8"), re.MULTILINE)
]
READ_FIRST = {Path("README.md"), Path("docs/tutorial.md")}
"""What every run goes through, as newcomers do; the other pages take half a minute."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(x, marks=() if x in READ_FIRST else pytest.mark.long) for x in PAGES],
    ids=str,
)
def test_a_page_shows_what_its_commands_print(page):
    """In order, in a new home, on a terminal."""
    script = [sys.executable, "scripts/run_examples.py", str(page)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert not done.stdout, done.stdout
    assert done.returncode == 0, done.stderr


def test_every_block_with_a_command_says_whether_it_is_run():
    """None is left out of the examples by an oversight."""
    script = "import sys; sys.path.insert(0, 'scripts'); import run_examples as r; "
    script += "print([w for p in r.PAGES for w in r.read_steps(p.read_text('utf-8'))[1]])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_the_picture_shows_what_its_commands_print(monkeypatch):
    """It is drawn by a script, and `make picture` draws it again."""
    monkeypatch.setenv("TERM", "xterm-256color")
    script = [sys.executable, "scripts/make_picture.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
