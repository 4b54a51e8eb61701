"""Looks over all that one owner's commonplace stands on, and has each room mend what is its own.

Never mends anything itself but the modes of our own folders, and fetches nothing to look but a word
from the language model that is set, which costs nothing.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from commonplace.config.settings import user_file
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import may_exist, translated
from commonplace.core.ports import Erasing, Mendable
from commonplace.core.values import Problem, Since
from commonplace.doors.doctor.places import name_cloud, name_network
from commonplace.doors.stdio.snapshot import TESTED_SDK, read_argv, start_key
from commonplace.doors.stdio.snapshot_recorder import forget_snapshot, is_true, kept_snapshots
from commonplace.index.sqlite.file import FILE_NAME, SCHEMA
from commonplace.inference.encoder.profiles import Weights, read_profile
from commonplace.inference.encoder.repair import WeightsCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from commonplace.app import App
    from commonplace.app.context import JournalWiring
    from commonplace.core.values import Finding

_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, each with the part it was found in: weights, settings, folders, ..."""

    problems: list[tuple[str, Problem]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Repairs:
    """What was done, and what could not be done, each with its part."""

    done: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, Problem]] = field(default_factory=list)


class Doctor:
    """One look at an owner's weights, settings, folders, journal and index, and their repair."""

    def __init__(self, app: App) -> None:
        self._app = app
        settings = app.settings
        profile = read_profile(settings.encoder.model)
        folder = settings.encoder.folder
        self._weights = WeightsCheck(profile, home=settings.home, folder=folder)

    def examine(self) -> Report:
        """What is wrong, and what is worth knowing; reads every entry, and mends nothing."""
        report = Report()
        looks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
            ("weights", self._look_at_weights),
            ("settings", self._look_at_settings),
            ("folders", self._look_at_folders),
            *((each.name, partial(_look_at, each)) for each in self._app.journals),
            ("index", self._look_at_index),
            ("language", self._look_at_language),
            ("start", self._look_at_start),
        ]
        for part, look in looks:
            for finding in look():
                if isinstance(finding, Problem):
                    report.problems.append((part, finding))
                else:
                    report.notes.append((part, finding))
        return report

    def repair(self, progress: Callable[[int, int], None] | None = None) -> Repairs:
        """Mend what can be mended, then file and encode what is missing; each part by itself.

        progress: told (vectors made, still to make).
        """
        mended = Repairs()
        index = self._app.index
        steps: list[tuple[str, Callable[[], Iterable[str]]]] = [
            ("folders", self._close_folders),
            ("weights", self._weights.repair),
            *((each.name, each.repair) for each in self._app.journals),
            ("index", index.repair if isinstance(index, Mendable) else list),
            ("index", lambda: self._catch_up(progress)),
            ("start", self._mend_start),
        ]
        for part, step in steps:
            try:
                mended.done.extend((part, sentence) for sentence in step())
            except CommonplaceError as exc:
                mended.failed.append((part, Problem(what=exc.located, hint=exc.located_hint)))
        return mended

    def _look_at_weights(self) -> Iterator[Finding]:
        yield from self._weights.problems()
        found = self._weights.found()
        if isinstance(found, Weights):
            yield f"{found.identity}, from {found.origin}."
            yield f"{found.model.parent}"

    def _look_at_settings(self) -> Iterator[Finding]:
        by_origin: dict[str, list[str]] = {}
        for key, origin in self._app.settings.origins.items():
            by_origin.setdefault(origin.replace(f" ({key})", ""), []).append(key)
        defaults = len(by_origin.pop("default", []))
        file = user_file()
        if str(file) not in by_origin:
            yield f"{file} {'sets nothing in use' if os.path.isfile(file) else 'is not there'}."
        for origin, keys in by_origin.items():
            yield f"From {origin}: {', '.join(keys)}."
        yield from self._app.settings.left_out
        yield f"{defaults} settings have their defaults; `commonplace config show` lists all."

    def _look_at_folders(self) -> Iterator[Finding]:
        home = self._app.settings.home
        yield f"What is only ours lies in {home}{_unmade(home)}."
        yield from _unusable(home)
        for path in self._open_to_others():
            yield Problem(
                what=f"{path} can be read by other users of this machine.",
                hint="Repair makes it yours alone.",
                repairable=True,
            )
        for name in (name_cloud(home), name_network(home)):
            if name:
                yield (
                    f"{home} lies {name}: a database there may be damaged. Set COMMONPLACE_HOME "
                    "to a folder of this machine alone."
                )

    def _look_at_index(self) -> Iterator[Finding]:
        index = self._app.index
        is_there = may_exist(self._app.folder / "index" / FILE_NAME)
        problems = index.problems() if isinstance(index, Mendable) else []
        yield from problems
        if problems:
            return
        try:
            yield from self._count_index(is_there=is_there)
            if is_there and isinstance(index, Erasing) and index.has_remains():
                yield "It may hold bytes of deleted or altered text until the next start."
        except CommonplaceError as exc:
            yield Problem(what=exc.located, hint=exc.located_hint)

    def _look_at_language(self) -> Iterator[Finding]:
        try:
            client = self._app.languages.client()
            if client is None:
                yield "None is set (llm.url): summaries and merges are made without one."
                return
            answers = "answers" if client.check() else "is there, lists no models"
            purse = self._app.languages.purse
            spent, most = purse.spent(), purse.per_day
        except CommonplaceError as exc:
            yield Problem(what=exc.located, hint=exc.located_hint)
            return
        seen = "may see" if client.sees_private else "never sees"
        yield f"{client.name} {answers}, and {seen} private text."
        yield f"Today it has taken {spent:,} of {most:,} tokens."

    def _look_at_start(self) -> Iterator[Finding]:
        if start_key([]) is None:
            yield (
                f"Each session begins with the SDK: it is not of version {TESTED_SDK}, or a folder "
                "of the settings is not named in full."
            )
            return
        snapshots = kept_snapshots()
        if not snapshots:
            yield "No snapshot for here: the next session begins with the SDK, and leaves one."
        for snapshot in snapshots:
            words = " ".join(["mcp", *read_argv(snapshot["key"])])
            if is_true(snapshot, user_home=self._app.user_home):
                yield f"`{words}` begins from a snapshot that says what the SDK says."
            else:
                yield Problem(
                    what=f"The snapshot of `{words}` says other than the SDK.",
                    hint="Repair removes it; please report it.",
                    repairable=True,
                )

    def _mend_start(self) -> Iterator[str]:
        for snapshot in kept_snapshots():
            if not is_true(snapshot, user_home=self._app.user_home):
                forget_snapshot(snapshot["key"])
                yield "Removed a snapshot that said other than the SDK."

    def _count_index(self, *, is_there: bool) -> Iterator[str]:
        if is_there:
            found = self._weights.found()
            identity = found.identity if isinstance(found, Weights) else ""
            counts = self._app.index.counts(identity)
            size = f"{counts.bytes / 1_000_000:.1f} MB"
            yield f"Schema {SCHEMA}, {_counted(counts.docs, 'entry')}, {size}."
            if counts.pending:
                makers = (
                    "a running server makes them, or `commonplace reindex`"
                    if identity
                    else "they are made once the weights are here"
                )
                yield f"{_waiting(counts.pending)} for a vector: {makers}; words find them."
        else:
            yield "Not made yet."
        behind = self._count_unfiled(is_there=is_there)
        if behind:
            yield f"{_waiting(behind)} to be filed: the next search does it."

    def _count_unfiled(self, *, is_there: bool) -> int:
        """How many entries the index lacks, holds in an older form, or holds though they are gone.

        An index that is not there is not made for this.
        """
        nothing = Since(mark=None, stamps=lambda _prefix: {})
        unfiled = 0
        for source in self._app.sources():
            known = self._app.index.since(source.name) if is_there else nothing
            with suppress(CommonplaceError):  # a journal that cannot be read is told of by its part
                unfiled += sum(1 for _ in source.scan(replace(known, mark=None)))
        return unfiled

    def _ours(self) -> Iterator[Path]:
        """Our folders and the files of the index, as far as they are there."""
        home, folder = self._app.settings.home, self._app.folder
        index = folder / "index"
        for path in (home, home / "users", folder, folder / "keys", index):
            if os.path.isdir(path):
                yield path
        files = (index / name for name in sorted(_names_in(index)))
        yield from (x for x in files if os.path.isfile(x))

    def _open_to_others(self) -> list[Path]:
        if os.name == "nt":
            return []
        return [x for x in self._ours() if stat.S_IMODE(os.stat(x).st_mode) & _OTHERS]

    def _close_folders(self) -> Iterator[str]:
        for path in self._open_to_others():
            with translated(path):
                os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_OTHERS)
            yield f"Closed {path} to other users."

    def _catch_up(self, progress: Callable[[int, int], None] | None) -> Iterator[str]:
        app = self._app
        behind = self._count_unfiled(is_there=True)
        bare = self._count_bare()
        app.encoder.start()
        made = app.filing.catch_up(progress)
        if behind:
            yield f"Filed {_counted(behind, 'change')} of the journal."
        if made:
            yield f"Made the vectors of {_counted(made, 'entry')}."
        written = bare - self._count_bare()
        if written > 0:
            yield f"Wrote {_counted(written, '.embedding file')}."

    def _count_bare(self) -> int:
        from commonplace.journals.private.source import sources_of

        return sum(1 for source in sources_of(self._app.private.journal) for _ in source.wanting())


def _look_at(journal: JournalWiring) -> Iterator[Finding]:
    try:
        yield from journal.problems()
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def _unusable(home: Path) -> Iterator[Problem]:
    """Why nothing can be written to our home, if so."""
    there = home
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not os.path.isdir(there):
        yield Problem(what=f"{there} is no folder.", hint="Move it away, or set COMMONPLACE_HOME.")
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Problem(
            what=f"{there} cannot be written to.",
            hint="Check its owner and mode, or set COMMONPLACE_HOME.",
        )


def _unmade(path: Path) -> str:
    return "" if may_exist(path) else ", not made yet"


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _counted(count: int, thing: str) -> str:
    many = (
        thing
        if count == 1
        else f"{thing.removesuffix('y')}ies"
        if thing[-1] == "y"
        else f"{thing}s"
    )
    return f"{count} {many}"


def _waiting(count: int) -> str:
    return f"{_counted(count, 'entry')} {'waits' if count == 1 else 'wait'}"
