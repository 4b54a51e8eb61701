"""A home in which forty secrets lie as other programs left them, and how they are looked for."""

from __future__ import annotations

import html
import json
import random
import re
from pathlib import Path
from urllib.parse import unquote_plus

from tests.core.test_shapes import RULES, made_of

from commonplace.core.shapes import find
from commonplace.journals.chronicle.event import EventDraft
from commonplace.journals.transcripts.message import Message

COUNT = 40
PART = 20
"""Characters of a secret that say it is one, where a text was cut in the midst of it."""


def made_secrets() -> list[str]:
    """Secrets of forty kinds, each found whole wherever it stands alone."""
    rng = random.Random(20261126)
    texts = (made_of(rules[0], rng)[0] for rules in RULES.values())
    found = [x for x in texts if [(0, len(x))] == [(s, e) for s, e, _ in find(x)] and " " not in x]
    assert len(found) >= COUNT
    return found[:COUNT]


class Planted:
    """The secrets, each in a place of its own.

    Args:
        app: Of a home where `secrets.at_write` is keep.
    """

    def __init__(self, app) -> None:
        self.secrets = made_secrets()
        self.places: dict[str, str] = {}
        plain = next(x for x in self.secrets if re.fullmatch(r"[\w-]+", x))
        self.places["section name"] = plain  # the first that a file may be named by
        self._left = (x for x in self.secrets if x != plain)
        for plant in (
            self._private,
            self._chronicle,
            self._notebook,
            self._timeline,
            self._memory,
            self._transcripts,
        ):
            plant(app)
        for secret in self._left:
            call(app, "chronicle", "add_entry", message=f"The kestrel said {secret} to us.")

    def one(self, place: str) -> str:
        """The secret of a place."""
        if place not in self.places:
            self.places[place] = next(self._left)
        return self.places[place]

    def shown_in(self, said: str) -> list[str]:
        """The places whose secret an output shows, in any spelling of HTML, addresses or JSON."""
        spelled = [said, html.unescape(said), unquote_plus(said), unquote_plus(html.unescape(said))]
        spelled.append(said.replace("\\/", "/").replace('\\"', '"'))
        return [
            next((name for name, each in self.places.items() if each == secret), "text")
            for secret in self.secrets
            if any(part in each for each in spelled for part in (secret[:PART], secret[-PART:]))
        ]

    def _private(self, app) -> None:
        text = f"The kestrel: {self.one('private text')}"
        call(app, "private", "process_thoughts", feelings=text, project_notes=text)
        folder = Path.home() / ".private-journal" / "2026-11-20"
        folder.mkdir(parents=True)
        (folder / "10-00-00-000001.md").write_text(
            f'---\ntitle: "{self.one("private title")}"\ndate: 2026-11-20T10:00:00.000Z\n'
            f"timestamp: 1795168800000\n---\n\n## {self.one('private heading')}\n\nThe kestrel.\n"
        )

    def _chronicle(self, app) -> None:
        tags = [self.one("chronicle tag"), "kestrel"]
        call(app, "chronicle", "add_entry", message="The kestrel flew.", tags=tags)
        fields = {
            "message": f"TODO: the kestrel's {self.one('chronicle to-do')}",
            "directory": f"/srv/{self.one('chronicle folder')}",
            "hostname": self.one("chronicle machine"),
            "username": self.one("chronicle user"),
            "tags": ("todo", self.one("second tag")),
        }
        at = 1_795_600_000_000_000_000
        logged = EventDraft(id="1", instant=at, written=at, **fields)
        assert app.chronicle.journal.import_events([logged]) == 1
        call(
            app,
            "chronicle",
            "add_entry",
            message=f"decided {self.one('decided')}",
            tags=["decided"],
        )

    def _notebook(self, app) -> None:
        call(
            app,
            "notebook",
            "journal_write",
            path=f"birds/{self.one('section name')}",
            entry=f"The kestrel: {self.one('notebook entry')}",
            overview=f"The kestrel: {self.one('overview')}",
            summary=f"The kestrel {self.one('summary')}",
            work_context=self.one("work context"),
        )

    def _timeline(self, app) -> None:
        metadata = {"deep": [{self.one("name of metadata"): self.one("metadata")}]}
        content = f"The kestrel {self.one('timeline text')}"
        call(app, "timeline", "timeline_add", content=content, metadata=metadata)
        call(app, "timeline", "timeline_profile", text=f"Likes {self.one('profile')}")

    def _memory(self, app) -> None:
        for kind, fields in {
            "todo": {"title": f"Feed the kestrel {self.one('to-do')}"},
            "journal": {"title": self.one("title"), "body": f"The kestrel {self.one('body')}"},
            "message": {"role": "user", "text": f"The kestrel {self.one('message')}"},
            "preference": {"language": self.one("language"), "flags": {"x": self.one("flag")}},
        }.items():
            call(app, "memory-write", "memory_save", kind=kind, **fields)

    def _transcripts(self, app) -> None:
        said = Message(
            id="1",
            role="user",
            at="2026-11-22T10:00:00.000Z",
            text=f"The kestrel {self.one('what was said')}",
            cwd=f"/srv/{self.one('folder of a session')}",
            branch=f"try/{self.one('branch')}",
        )
        app.transcripts.store.append("claude-code", "s-1", [said])


def call(app, toolset, tool, **arguments):
    """Call a tool; returns its answer's facts."""
    return app.toolset(toolset).tool(tool).call(arguments).facts


def spelled(value) -> str:
    """Data as text."""
    return json.dumps(value, ensure_ascii=False, default=str)
