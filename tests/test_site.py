"""The docs site: what is gathered for it, and that no page is left out."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, "scripts")
import make_site
if sys.argv[1] == "gather":
    make_site.gather(Path(sys.argv[2]), "https://example.org/repository")
else:
    make_site.MADE = Path(sys.argv[2])
    make_site.list_versions()
"""


def run(*words):
    """A part of the script, without what renders the pages."""
    subprocess.run([sys.executable, "-c", SCRIPT, *map(str, words)], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The folder of gathered pages."""
    folder = tmp_path_factory.mktemp("site")
    run("gather", folder)
    return folder / "pages"


def in_navigation(part):
    """Every page that a part of the navigation leads to."""
    if isinstance(part, str):
        return {part}
    inside = part.values() if isinstance(part, dict) else part
    return {page for each in inside for page in in_navigation(each)}


def test_the_navigation_leads_to_every_page(pages):
    """A new page is put into it; a decision is reached from their list."""
    found = tomllib.loads((ROOT / "docs" / "site.toml").read_text("utf-8"))["project"]["nav"]
    there = {str(page.relative_to(pages)) for page in pages.rglob("*.md")}
    decisions = {x for x in there if x.startswith("docs/decisions/0")}
    assert in_navigation(found) == there - decisions


def test_a_link_to_a_page_stays_and_one_to_a_file_leaves_the_site(pages):
    """The README is the first page, and lies where the repository's first folder is."""
    assert "](docs/web.md)" in (pages / "index.md").read_text("utf-8")
    designs = (pages / "docs" / "designs.md").read_text("utf-8")
    assert "](https://example.org/repository/blob/main/tests/" in designs
    assert "](../tests" not in designs


def test_what_a_block_of_code_says_is_left_alone(pages):
    """Markdown in an example is no link of ours."""
    page = (pages / "docs" / "notebook-sharing.md").read_text("utf-8")
    source = (ROOT / "docs" / "notebook-sharing.md").read_text("utf-8")
    assert page.count("```") == source.count("```")


def test_versions_are_listed_by_number_newest_first(tmp_path):
    """Each page's switch reads the list; the site opens the newest."""
    folder = tmp_path / "site"
    for name in ("0.9.0", "0.10.0", "staged"):
        (folder / name).mkdir(parents=True)
    run("versions", folder)
    rows = json.loads((folder / "versions.json").read_text("utf-8"))
    assert [row["version"] for row in rows] == ["0.10.0", "0.9.0"]
    assert "url=0.10.0/index.html" in (folder / "index.html").read_text("utf-8")


def test_a_candidate_stands_behind_its_release(tmp_path):
    """Who opens the site is not given what was tried before the release."""
    folder = tmp_path / "site"
    for name in ("0.10.0", "0.10.0rc1", "0.10.0rc2", "0.9.0", "next"):
        (folder / name).mkdir(parents=True)
    run("versions", folder)
    rows = json.loads((folder / "versions.json").read_text("utf-8"))
    versions = [row["version"] for row in rows]
    assert versions == ["0.10.0", "0.10.0rc2", "0.10.0rc1", "0.9.0", "next"]
