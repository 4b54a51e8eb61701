"""Something to import of each kind, in words that nothing else says, and what is there of it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from tests.doors.terminal import opened_app

KINDS = ("private", "timeline", "chronicle", "memories", "journal-json", "sessions", "export")
"""The entries of another program in two journals, and each other kind of import."""

EXPORT = Path(__file__).parent / "verbs" / "exports" / "version-2"
"""An export of a home that has entries in all six journals."""

SAID = "zebrafinch"
"""A word of each entry, but for those of the export."""

SAID_IN_EXPORT = ["it was the cache", "tides are", "rolled back", "moons", "graz", "how is the h"]
"""Words of entries of the export; git packs those of the notebook."""

DAYS = range(1, 4)


def command_of(kind, folder):
    """The words of the command that imports three entries of a kind, laid into a folder."""
    path = Path(folder) / f"{kind}.txt"
    match kind:
        case "private" | "timeline":
            days = (f"[2024-05-0{n} 09:30] Day {n} of the {SAID}\n\n" for n in DAYS)
            path.write_text("".join(days))
            return ["import", "jrnl", path, "--into", kind]
        case "chronicle":
            entries = [
                {"id": n, "timestamp": f"2026-03-0{n}T09:30:00Z", "message": f"fed {SAID} {n}"}
                for n in DAYS
            ]
            path.write_text(json.dumps({"entries": entries}))
            return ["chronicle", "import", path]
        case "memories":
            kept = [{"type": "fact", "content": f"has {SAID} {n}"} for n in DAYS]
            path.write_text("".join(json.dumps(each) + "\n" for each in kept))
            return ["timeline", "import-memories", path]
        case "journal-json":
            entries = [
                {"content": f"A {SAID} sings, {n}.", "created_at": f"2026-03-0{n}T09:30:00Z"}
                for n in DAYS
            ]
            sections = {"birds": {"overview": f"The {SAID} sings.", "entries": entries}}
            path.write_text(json.dumps({"sections": sections}))
            return ["notebook", "import-json", path]
        case "sessions":
            sessions = Path(folder) / "claude"
            for n in DAYS:
                lines = [line_of(n, role) for role in ("user", "assistant")]
                (sessions / f"s{n}.jsonl").parent.mkdir(parents=True, exist_ok=True)
                (sessions / f"s{n}.jsonl").write_text("".join(lines))
            return ["import", "claude-code", sessions]
        case _:
            return ["import", EXPORT]


def line_of(n, role, more=""):
    """A line of a session in Claude Code's form."""
    line = {
        "type": role,
        "uuid": f"{role}-{n}{more}",
        "sessionId": f"s{n}",
        "timestamp": f"2026-11-2{n}T10:00:00Z",
        "message": {"role": role, "content": f"the {SAID} of {role} {n} {more}"},
    }
    return json.dumps(line) + "\n"


def there():
    """The words of all that this home shows, by journal; summaries, which are made, left out."""
    with closing(opened_app()) as app:
        app.filing.sweep()
        found = []
        for journal in app.journals:
            if journal.is_there() and journal.name != "notebook":
                for item in journal.portable().export_items(None):
                    found.append((journal.name, item.page_text()))
        notebook = app.notebook.journal
        if notebook.exists:
            for section in notebook.list_sections():
                overview = notebook.read_section(section).overview
                found += [("notebook", overview)] if overview else []
                lines = notebook.list_entries(section, length=100)
                found += [("notebook", line.summary) for line in lines]
        return sorted(found)


def files_with(word, *, outside=()):
    """The files below the home that hold a word, but for those below some paths."""
    return [
        path
        for path in Path.home().rglob("*")
        if path.is_file()
        and not any(path.is_relative_to(each) for each in outside)
        and word.encode() in path.read_bytes().lower()
    ]
