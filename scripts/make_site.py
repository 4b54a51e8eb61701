"""Builds the docs site: gathers the pages into a folder, and has Zensical render them strictly.

Writes below `build/site` alone. A link that leads nowhere, or to no heading, ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "docs" / "site.toml"
MADE = ROOT / "build" / "site"
FOLDERS = ("docs", "server/docs")
"""What a reader sees of the repository, where it lies: a link means the same in both places."""
ALONE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
DECISIONS = "docs/decisions"
LIST = f"{DECISIONS}/index.md"
"""The page of them, which lies nowhere in the repository."""
SHOWN = {".md", ".png", ".svg", ".json"}
LINK = re.compile(
    r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?!\w+:|#)(?P<link>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)"
)
FENCED = re.compile(r"(^`{3,}.*?^`{3,}$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
UNSEARCHED = re.compile(r"CHANGELOG|docs/(decisions/|designs|promises)")
"""Long lists that hold every word: they would stand before the page that answers."""
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"
COMMENT = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)


def main() -> int:
    """Build one version of the site; 1 where a link is lost."""
    parser = argparse.ArgumentParser(description="Build the docs site.")
    parser.add_argument(
        "--address", default="", help="the repository's; links to its files go there"
    )
    parser.add_argument("--version", default=version(), help="the folder that it is built into")
    words = parser.parse_args()
    staged = MADE / "staged"
    shutil.rmtree(staged, ignore_errors=True)
    gather(staged, words.address.rstrip("/"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "zensical",
            "build",
            "--strict",
            "--clean",
            "-f",
            staged / "site.toml",
        ],
        cwd=staged,
        check=False,
    )
    if done.returncode:
        return 1
    shown = MADE / words.version
    shutil.rmtree(shown, ignore_errors=True)
    (staged / "shown").rename(shown)
    list_versions()
    print(f"The site is in {shown.relative_to(ROOT)}.")
    return 0


def version() -> str:
    """The version of the distribution."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return found


def gather(staged: Path, address: str) -> None:
    """Copy the pages, and what they show, into a folder; their links lead to pages or `address`."""
    pages = staged / "pages"
    names = {"README.md": "index.md", **{name: name for name in ALONE}}
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in SHOWN:
                name = str(file.relative_to(ROOT))
                names[name] = name
    for name, target in names.items():
        copy = pages / target
        copy.parent.mkdir(parents=True, exist_ok=True)
        if copy.suffix == ".md":
            text = (ROOT / name).read_text("utf-8")
            copy.write_text(shown_text(text, name, names, address), "utf-8")
        else:
            shutil.copyfile(ROOT / name, copy)
    (pages / LIST).write_text(HIDDEN + list_of_decisions(pages / DECISIONS), "utf-8")
    shutil.copyfile(CONFIG, staged / "site.toml")


def shown_text(text: str, name: str, names: dict[str, str], address: str) -> str:
    """A page's text with its links as they are on the site; what a block of code says stays."""
    here = Path(names[name]).parent

    def link(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(name).parent / found["link"])
        page = LIST if target == DECISIONS else names.get(target)
        anchor = found["anchor"] or ""
        if page:
            return f"{found['text']}({os.path.relpath(page, here)}{anchor})"
        if not address:
            return found["text"][1:-1]
        return f"{found['text']}({address}/blob/main/{target}{anchor})"

    parts = FENCED.split(COMMENT.sub("", text))
    head = HIDDEN if UNSEARCHED.match(name) else ""
    return head + "".join(
        part if number % 2 else LINK.sub(link, part) for number, part in enumerate(parts)
    )


def list_of_decisions(folder: Path) -> str:
    """A page that leads to every decision, newest first."""
    rows = []
    for page in sorted(folder.glob("[0-9]*.md"), reverse=True):
        title = next(x for x in page.read_text("utf-8").splitlines() if x.startswith("# "))[2:]
        rows.append(f"- [{title}]({page.name})\n")
    return "# Decisions\n\nWhat was chosen, why, and what it costs; newest first.\n\n" + "".join(
        rows
    )


def list_versions() -> None:
    """Note which versions lie beside each other, for the switch on each page; open the newest."""
    names = [x.name for x in MADE.iterdir() if x.is_dir() and x.name != "staged"]
    names.sort(key=_by_number, reverse=True)
    rows = [{"version": x, "title": x, "aliases": []} for x in names]
    (MADE / "versions.json").write_text(json.dumps(rows) + "\n", "utf-8")
    opens = f'<!doctype html><meta http-equiv="refresh" content="0; url={names[0]}/index.html">\n'
    (MADE / "index.html").write_text(opens, "utf-8")


def _by_number(version: str) -> tuple[list[int], bool, str]:
    """What a version is sorted by: of one number a release comes after what was tried before it."""
    rest = version.lstrip("0123456789.")
    numbers = re.findall(r"\d+", version.removesuffix(rest))
    return [int(x) for x in numbers], not rest, rest


if __name__ == "__main__":
    sys.exit(main())
