"""What a notebook in git costs: writing, reading, listing, searching, and the first catch-up.

Never changes a kept repository: what is written goes to a copy of it.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bench.corpus import DAYS, FIRST_DAY, make_questions, make_texts
from bench.encoders import Wrapping
from bench.figures import Figure, Spread
from bench.homes import UTC, Home, is_marked, mark, put_synthetic_vectors
from commonplace.core.clock import utc_now
from commonplace.core.ids import new_id
from commonplace.journals.git.history import read_history
from commonplace.journals.notebook.format import (
    CommitMessage,
    render_file,
    render_message,
    summary_of,
)
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.source import NotebookSource
from commonplace.journals.notebook.sync import Sync
from commonplace.search.filing.filing import Filing
from commonplace_testing import ReadySlot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.app import App
    from commonplace.core.ports import Encoder
    from commonplace.core.values import Vector

WRITE_MS = 80.0
READ_MS = 15.0
LIST_MS = 30.0
TOC_MS = 50.0
SEARCH_MS = 35.0
OVERHEAD = 0.15

SECTIONS = 200
RARE = "archive/rarely-touched"
RARE_ENTRIES = 12
_LONGEST = 60
_WARM = 5
_TOLD = 5
_GIT = shutil.which("git") or "git"
_WORK = ("debugging", "design", "review", "planning", "release", "research")
_SYNTHETIC = "real words, synthetic clustered vectors put through the index's public face."
_AUTHOR = "Bench <bench@localhost>"


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. part: entries of the notebook whose first catch-up is measured."""

    entries: tuple[int, ...]
    times: int
    part: int


def notebook_figures(sizes: Sizes, cache: Path, scratch: Path) -> Iterator[Figure]:
    """All of the notebook's figures, for each size."""
    for entries in sizes.entries:
        home = filled_home(cache, entries)
        yield _write_figure(home, scratch / str(entries), entries=entries, times=sizes.times)
        with home.opened() as app:
            app.filing.catch_up()
            yield from _read_figures(app, entries=entries, times=sizes.times)
            yield from _search_figures(app, entries=entries, times=sizes.times)
        yield _sync_figure(home, scratch / f"sync-{entries}", entries=entries)
    yield _catch_up_figure(cache, scratch, entries=sizes.part)


def place_of(home: Home) -> Path:
    """The notebook of a home's one owner."""
    return home.own / "users" / "me" / "notebook"


def filled_home(cache: Path, count: int) -> Home:
    """A home with a notebook of so many entries, filed and packed; kept in the cache."""
    home = written_home(cache, count)
    if not is_marked(home, "filed"):
        with home.opened(encoder="absent") as app:
            app.notebook.repository.pack()
            app.filing.sweep()
        with home.opened() as app:
            put_synthetic_vectors(app)
        mark(home, "filed")
    return home


def written_home(cache: Path, count: int) -> Home:
    """A home with a notebook of so many entries of which no index knows; kept in the cache."""
    home = Home(cache / f"notebook-{count}").make()
    if not is_marked(home, "written"):
        shutil.rmtree(place_of(home), ignore_errors=True)
        write_notebook(place_of(home), count)
        mark(home, "written")
    return home


def write_notebook(folder: Path, count: int) -> None:
    """A repository of so many entries."""
    import_commits(folder, _commits(count))


def import_commits(folder: Path, commits: Iterable[bytes]) -> None:
    """A new repository of these commits, by one stream as git itself imports one."""
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    with subprocess.Popen(
        [_GIT, "-C", str(folder), "fast-import", "--quiet", "--done", "--date-format=raw"],
        stdin=subprocess.PIPE,
    ) as importer:
        assert importer.stdin is not None
        importer.stdin.write(b"feature done\n")
        importer.stdin.writelines(commits)
        importer.stdin.write(b"done\n")
        importer.stdin.close()
        assert importer.wait() == 0
    _git(folder, "reset", "-q", "--hard")


def _commits(count: int) -> Iterator[bytes]:
    """Entries spread over sections, most in few, with an overview now and then; oldest first."""
    chance = random.Random(41)  # noqa: S311  a corpus, no secret
    names = [f"project-{n % 20:02d}/part-{n:03d}" for n in range(SECTIONS)]
    shares = [1 / (n + 1) for n in range(SECTIONS)]
    counts: dict[str, int] = {}
    overviews: dict[str, str] = {}
    rare = {count // (2 * RARE_ENTRIES) * (n + 1) for n in range(RARE_ENTRIES)}
    step = timedelta(days=DAYS) / max(count, 1)
    for number, text in enumerate(islice(make_texts(seed=43, longest=_LONGEST), count)):
        name = RARE if number in rare else chance.choices(names, shares)[0]
        counts[name] = counts.get(name, 0) + 1
        if name not in overviews or chance.random() < 0.05:  # noqa: PLR2004  one entry in twenty
            overviews[name] = f"# {name}\n\n{text}"
        at = FIRST_DAY + step * number
        file = render_file(overviews[name], counts[name])
        message = CommitMessage(
            summary=summary_of(text),
            text=text,
            work_context=f"{chance.choice(_WORK)} of {name.partition('/')[0]}",
            section=name,
            entry_id=new_id(at, chance.randbytes(10)),
        )
        yield render_commit(message, file, at=at, author=_AUTHOR)


def render_commit(message: CommitMessage, content: bytes, *, at: datetime, author: str) -> bytes:
    """A commit of one entry for the stream; content: the file of its section after it."""
    said = render_message(message)
    who = f"{author} {int(at.timestamp())} +0000"
    head = f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {len(said)}\n"
    file = f"\nM 100644 inline {message.section}.md\ndata {len(content)}\n"
    return b"".join([head.encode(), said, file.encode(), content, b"\n"])


def _git(folder: Path, *words: str) -> None:
    subprocess.run([_GIT, "-C", str(folder), *words], check=True, capture_output=True)


def _write_figure(home: Home, scratch: Path, *, entries: int, times: int) -> Figure:
    """Entries written into a copy until they are on the branch; `git --version` in between."""
    folder = scratch / "notebook"
    shutil.copytree(place_of(home), folder)
    notes = _opened(folder, scratch / "ledger.db")
    notes.ledger.catch_up()
    took: list[float] = []
    floors: list[float] = []
    for number, text in enumerate(islice(make_texts(seed=47, longest=_LONGEST), times + _WARM)):
        floors.append(_ms(_git, folder, "--version"))
        section = f"project-{number % 20:02d}/part-{number % SECTIONS:03d}"
        took.append(_ms(notes.write, section, text))
    notes.close()
    floor = Spread.of(floors[_WARM:])
    measured = Spread.of(took[_WARM:])
    return Figure(
        name=f"notebook write, {entries:,} entries",
        unit="ms",
        measured=measured,
        floor=floor,
        limit=WRITE_MS,
        rule=f"{WRITE_MS:.0f} ms; the floor is `git --version`",
        note="an entry, until the branch holds it and the file is in the folder.",
    )


def _opened(folder: Path, ledger: Path) -> NotebookJournal:
    return NotebookJournal(
        folder, ledger=ledger, owner="me", zone=UTC, clock=utc_now, auto_gc=False
    )


def _read_figures(app: App, *, entries: int, times: int) -> Iterator[Figure]:
    tool = app.notebook.toolset().tool
    chance = random.Random(53)  # noqa: S311  as above
    names = [f"project-{n % 20:02d}/part-{n:03d}" for n in chance.choices(range(40), k=times)]
    rare: list[dict[str, Any]] = [{"path": RARE}] * times
    whole: list[dict[str, Any]] = [{"depth": 2}] * times
    for name, verb, limit, calls in (
        ("overview", "journal_read", READ_MS, [{"id": x} for x in names]),
        ("last 10 entries of a rare section", "journal_list_entries", LIST_MS, rare),
        ("table of contents", "journal_toc", TOC_MS, whole),
    ):
        took = [_ms(tool(verb).call, arguments) for arguments in calls]
        yield Figure(
            name=f"notebook {name}, {entries:,} entries",
            unit="ms",
            measured=Spread.of(took[1:]),
            floor=None,
            limit=limit,
            rule=f"{limit:.0f} ms",
        )


def _sync_figure(home: Home, scratch: Path, *, entries: int) -> Figure:
    """Two clones that both wrote, and a bare repository on this disk: the second one's sync."""
    scratch.mkdir()
    _git(scratch, "clone", "-q", "--bare", str(place_of(home)), "meeting.git")
    clones: list[NotebookJournal] = []
    for name in ("one", "two"):
        _git(scratch, "clone", "-q", "meeting.git", name)
        clones.append(_opened(scratch / name, scratch / f"{name}.db"))
        clones[-1].ledger.catch_up()
    took: list[float] = []
    for number in range(_WARM + 1):
        for notes in clones:
            for part in range(_TOLD):
                notes.write(f"project-{part:02d}/part-{part:03d}", f"Entry {number} of {part}.")
        _sync(clones[0])
        took.append(_ms(_sync, clones[1]))
        _sync(clones[0])
    for notes in clones:
        notes.close()
    return Figure(
        name=f"notebook sync of {_TOLD} entries on either side, {entries:,} entries",
        unit="ms",
        measured=Spread.of(took[1:]),
        floor=None,
        limit=None,
        rule="",
        note="fetched, merged, counted and pushed; the remote is a folder.",
    )


def _sync(notes: NotebookJournal) -> None:
    Sync(notes, remote="origin").run()


def _search_figures(app: App, *, entries: int, times: int) -> Iterator[Figure]:
    """Each pair of questions twice: what their first search encodes of entries is kept then."""
    encoder = app.encoder.get()
    assert encoder is not None
    search = app.notebook.toolset().tool("journal_search").call
    contents, contexts = make_questions(times + _WARM), make_questions(times + _WARM, seed=5)
    floors: list[float] = []
    firsts: list[float] = []
    took: list[float] = []
    one: list[float] = []
    for content, context in zip(contents, contexts, strict=True):
        floors.append(sum(_ms(encoder.encode_query, f"{x}?") for x in (content, context)))
        asked = {"content": content, "work_context": context}
        firsts.append(_ms(search, asked))
        took.append(_ms(search, asked))
        one.append(_ms(search, {"content": content}))
    floor = Spread.of(floors[_WARM:])
    yield Figure(
        name=f"notebook warm search, {entries:,} entries",
        unit="ms",
        measured=Spread.of(took[_WARM:]),
        floor=floor,
        limit=floor.median + SEARCH_MS,
        rule=f"encoding both questions + {SEARCH_MS:.0f}",
        note=_SYNTHETIC,
    )
    yield Figure(
        name=f"notebook warm search by content alone, {entries:,} entries",
        unit="ms",
        measured=Spread.of(one[_WARM:]),
        floor=Spread.of([x / 2 for x in floors[_WARM:]]),
        limit=floor.median / 2 + SEARCH_MS,
        rule=f"query encoding + {SEARCH_MS:.0f}",
        note=_SYNTHETIC,
    )
    yield Figure(
        name=f"notebook search that meets new entries, {entries:,} entries",
        unit="ms",
        measured=Spread.of(firsts[_WARM:]),
        floor=floor,
        limit=None,
        rule="",
        note="it encodes both sides of the candidates that no earlier question met.",
    )


def _catch_up_figure(cache: Path, scratch: Path, *, entries: int) -> Figure:
    """A first catch-up whole, beside reading the history and encoding the same texts alone."""
    written = written_home(cache, entries)
    home = Home(scratch / "catching-up").make()
    shutil.copytree(place_of(written), place_of(home))
    with home.opened() as app:
        encoder = app.encoder.get()
        assert encoder is not None
        encoder.encode_passages(["warm"] * 8)
        began = time.perf_counter()
        commits = list(
            read_history(app.notebook.repository.repo, app.notebook.repository.repo.head().commit)
        )
        reading = time.perf_counter() - began
        assert len(commits) == entries
        made = _Heard(encoder)
        filing = Filing(
            index=app.index,
            sources=[NotebookSource(app.notebook.repository)],
            encoder=ReadySlot(made),
            holder="bench",
        )
        began = time.perf_counter()
        filing.catch_up()
        took = time.perf_counter() - began
        filing.close()
    floor = reading + made.seconds
    return Figure(
        name=f"notebook first catch-up, {entries:,} entries",
        unit="s",
        measured=Spread.of([took]),
        floor=Spread.of([floor]),
        limit=floor * (1 + OVERHEAD),
        rule=f"{1 + OVERHEAD} x reading and encoding",
        note="the floor: one read of the history, and the time inside the encoder.",
    )


class _Heard(Wrapping):
    """An encoder that adds up how long it encodes."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.seconds = 0.0

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """As the encoder does."""
        began = time.perf_counter()
        try:
            return super().encode_passages(texts)
        finally:
            self.seconds += time.perf_counter() - began


def _ms(run: Callable[..., object], *given: object) -> float:
    began = time.perf_counter()
    run(*given)
    return (time.perf_counter() - began) * 1000
