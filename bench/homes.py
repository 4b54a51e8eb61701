"""Homes to measure in: a user's folder, a project and our own data, filled and caught up once.

Never touches the journals, the index or the settings of whoever runs it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
from msgspec import Struct

from bench.corpus import make_thoughts
from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.text import text_hash
from commonplace.core.values import Encoded
from commonplace.journals.private.format import (
    first_micros,
    render_day,
    render_file,
    render_stem,
    render_thoughts,
)
from commonplace.journals.transcripts.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bench.corpus import Thought
    from commonplace.core.values import Vector

UTC = ZoneInfo("UTC")
BEGIN = datetime(2026, 1, 1, 8, tzinfo=UTC)
ENCODER_WAIT_S = 60.0
JOURNAL = ".private-journal"
_SESSION = 1000
_FOREIGN = (
    "COMMONPLACE_",
    "JOURNAL_",
    "PRIVATE_JOURNAL_",
    "CHRONICLE_",
    "XDG_",
    # An installed package is compiled; without this a start would compile all of it each time.
    "PYTHONDONTWRITEBYTECODE",
)
_CLUSTERS = 200
_BATCH = 2000


class Home(Struct, frozen=True):
    """A folder that holds a user's home, a project, and what is only ours."""

    folder: Path

    @property
    def user(self) -> Path:
        """The user's home folder."""
        return self.folder / "user"

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.folder / "project"

    @property
    def own(self) -> Path:
        """What COMMONPLACE_HOME names."""
        return self.folder / "own"

    @property
    def index_folder(self) -> Path:
        """The whole index of the one owner."""
        return self.own / "users" / "me" / "index"

    @property
    def roots(self) -> tuple[Path, Path]:
        """The two folders of entries, the user's first."""
        return self.user / JOURNAL, self.project / JOURNAL

    @property
    def chronicle(self) -> Path:
        """Chronicle's database, there or not."""
        return self.user / ".local" / "share" / "chronicle" / "chronicle.db"

    def environment(self) -> dict[str, str]:
        """The environment of a process that lives here."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        return {
            **kept,
            "HOME": str(self.user),
            "COMMONPLACE_HOME": str(self.own),
            "COMMONPLACE_PROJECT": str(self.project),
            "COMMONPLACE_TIMEZONE": "UTC",
            # Named outright: an app in this process looks for it by this process's own environment.
            "CHRONICLE_DB_PATH": str(self.chronicle),
        }

    def make(self) -> Home:
        """Make its folders; returns itself."""
        for folder in (self.user, self.project, self.own):
            folder.mkdir(parents=True, exist_ok=True)
        return self

    def write(self, thoughts: Sequence[Thought]) -> list[Path]:
        """Write entries as a foreign program would: one file each, nothing synced."""
        written: list[Path] = []
        for number, thought in enumerate(thoughts):
            root = self.roots[thought.is_project]
            day = root / render_day(thought.at, UTC)
            day.mkdir(mode=0o700, parents=True, exist_ok=True)
            stem = render_stem(thought.at, UTC, first_micros(thought.at, number % 1000))
            text = render_file(render_thoughts(thought.thoughts), thought.at, UTC)
            written.append(day / f"{stem}.md")
            written[-1].write_text(text, encoding="utf-8")
        return written

    def journal_bytes(self) -> int:
        """The apparent size of all entries and the `.embedding` files beside them."""
        return sum(_apparent_size(root) for root in self.roots)

    def index_bytes(self) -> int:
        """The apparent size of everything in the index's folder."""
        return _apparent_size(self.index_folder)

    @contextmanager
    def opened(self, *, encoder: str = "loaded") -> Iterator[App]:
        """The app of this home in this process, its encoder loaded or `absent`."""
        settings = read_settings(environ=self.environment(), cwd=self.project, home=self.user)
        app = App(settings, user_home=self.user)
        try:
            if encoder == "loaded":
                app.encoder.start()
                if app.encoder.get(ENCODER_WAIT_S) is None:
                    sys.exit(f"The figures need the encoder: {app.encoder.reason()}")
            yield app
        finally:
            app.close()


def _apparent_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def encoded_home(cache: Path, count: int) -> Home:
    """A home of so many entries, all filed and encoded by the product; kept in the cache."""
    home = written_home(cache, count)
    with home.opened() as app:
        app.filing.catch_up()
    mark(home, "caught-up")
    return home


def written_home(cache: Path, count: int) -> Home:
    """A home of so many entries of which the index may know nothing yet; kept in the cache."""
    home = Home(cache / f"encoded-{count}").make()
    if not is_marked(home, "written"):
        home.write(make_thoughts(count))
        mark(home, "written")
    return home


def is_caught_up(home: Home) -> bool:
    """Whether an earlier run has filed and encoded every entry of it."""
    return is_marked(home, "caught-up")


def synthetic_home(cache: Path, count: int) -> Home:
    """A home of so many entries, filed by the product, with vectors that no encoder made.

    Vectors: clusters on the unit sphere, through the index's public face. Beside each entry lies an
    empty `.embedding`, so that no search meets the making of them. Kept in the cache.
    """
    home = Home(cache / f"synthetic-{count}").make()
    if is_marked(home, "vectors"):
        return home
    home.write(make_thoughts(count))
    file_synthetic(home)
    mark(home, "vectors")
    return home


def file_synthetic(home: Home) -> None:
    """File what a home holds through the product, with vectors that no encoder made."""
    for root in home.roots:
        for path in root.rglob("*.md"):
            path.with_suffix(".embedding").touch()
    with home.opened(encoder="absent") as app:
        app.filing.sweep()
    with home.opened() as app:
        put_synthetic_vectors(app)


def put_synthetic_vectors(app: App) -> None:
    """Give every entry that waits for a vector one that no encoder made."""
    encoder = app.encoder.get()
    assert encoder is not None
    clustered = Clustered(encoder.dimensions)
    while docs := app.index.unencoded(encoder.identity, _BATCH):
        vectors = clustered.vectors(len(docs))
        app.index.put_vectors(
            encoder.identity,
            [
                Encoded(
                    ref=doc.ref,
                    text_hash=text_hash(doc.text),
                    spans=((0, len(doc.text)),),
                    vectors=vector[np.newaxis],
                )
                for doc, vector in zip(docs, vectors, strict=True)
            ],
        )


class Clustered:
    """Vectors in clusters on the unit sphere, the same each time."""

    def __init__(self, dimensions: int) -> None:
        self._chance = np.random.default_rng(3)
        self._centres = _unit(self._chance.standard_normal((_CLUSTERS, dimensions)))

    def vectors(self, count: int) -> Vector:
        """The next so many: (count, dimensions)."""
        near = self._centres[self._chance.integers(_CLUSTERS, size=count)]
        return _unit(near + 0.05 * self._chance.standard_normal(near.shape))


def _unit(rows: np.typing.NDArray[np.float64]) -> Vector:
    unit: Vector = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def add_sessions(app: App, lines: Sequence[str]) -> None:
    """Keep lines as sessions of 1,000 messages each, one every third day from `BEGIN` on."""
    for start in range(0, len(lines), _SESSION):
        begin = BEGIN + timedelta(days=start // _SESSION * 3)
        messages = [
            Message(
                id=f"{start + n}",
                role="assistant" if n % 2 else "user",
                at=f"{begin + timedelta(seconds=20 * n):%Y-%m-%dT%H:%M:%S}.000Z",
                text=line,
            )
            for n, line in enumerate(lines[start : start + _SESSION])
        ]
        app.transcripts.files.append("claude-code", f"s{start:07}", messages)


def is_marked(home: Home, what: str) -> bool:
    """Whether an earlier run has come so far with a kept home."""
    return (home.folder / f".{what}").exists()


def mark(home: Home, what: str) -> None:
    """Note that a kept home has come so far."""
    (home.folder / f".{what}").touch()
