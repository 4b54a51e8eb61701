"""Checks all that one owner's commonplace depends on, and has each room repair what is its own.

Repairs nothing itself except the modes of our own folders, and fetches nothing except the list of
models of the language endpoint that is set, which costs nothing.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import nullcontext, suppress
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from commonplace.config.settings import user_file
from commonplace.core.drafts import list_left
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import may_exist, translated
from commonplace.core.ports import Erasing, Repairable
from commonplace.core.present import AFTER_DOUBT
from commonplace.core.text import counted, counted_entries
from commonplace.core.values import NOTHING_KNOWN, HealthRepairs, HealthReport, Problem, Since
from commonplace.index.sqlite.file import FILE_NAME, SCHEMA
from commonplace.inference.encoder.profiles import Weights, read_profile
from commonplace.inference.encoder.repair import WeightsCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from commonplace.app import App
    from commonplace.core.values import Finding

_OTHERS = 0o077


class Doctor:
    """Checks and repairs an owner's weights, settings, folders, journals and index."""

    def __init__(self, app: App) -> None:
        self._app = app
        settings = app.settings
        profile = read_profile(settings.encoder.model)
        folder = settings.encoder.folder
        self._weights = WeightsCheck(profile, home=settings.home, folder=folder)

    def examine(self) -> HealthReport:
        """Find what is wrong, and what is worth knowing; reads every entry, and changes nothing."""
        with self._finding_index_problems() as find_index_problems:
            return self._examine(find_index_problems)

    def _examine(self, find_index_problems: Callable[[], list[Problem]]) -> HealthReport:
        report = HealthReport()
        checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
            ("weights", self._check_weights),
            ("settings", self._check_settings),
            ("folders", self._check_folders),
            *((each.name, each.problems) for each in self._app.journals),
            ("leftovers", self._check_leftovers),
            ("drafts", self._check_drafts),
            ("expiring", self._check_expiring),
            ("index", lambda: self._check_index(find_index_problems)),
            ("language", self._check_language),
        ]
        for part, check in checks:
            # What ends two looks at one journal, such as a full disk, is said once.
            for finding in dict.fromkeys(_findings_of(check)):
                if isinstance(finding, Problem):
                    report.problems.append((part, finding))
                else:
                    report.notes.append((part, finding))
        return report

    def repair(self, progress: Callable[[int, int], None] | None = None) -> HealthRepairs:
        """Repair what can be, each part by itself, then file and encode what is missing."""
        repairs = HealthRepairs()
        index = self._app.index
        steps: list[tuple[str, Callable[[], Iterable[str]]]] = [
            ("folders", self._restrict_folders),
            ("leftovers", self._clear_leftovers),
            ("weights", self._weights.repair),
            *((each.name, each.repair) for each in self._app.journals),
            ("index", index.repair if isinstance(index, Repairable) else list),
            ("index", lambda: self._catch_up(progress)),
        ]
        for part, step in steps:
            try:
                repairs.done.extend((part, sentence) for sentence in step())
            except CommonplaceError as exc:
                repairs.failed.append((part, Problem(what=exc.located, hint=exc.located_hint)))
        return repairs

    def _check_weights(self) -> Iterator[Finding]:
        yield from self._weights.problems()
        found = self._weights.found()
        if isinstance(found, Weights):
            yield f"{found.identity}, from {found.origin}."
            yield f"{found.model.parent}"

    def _check_settings(self) -> Iterator[Finding]:
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

    def _check_folders(self) -> Iterator[Finding]:
        home = self._app.settings.home
        unmade = "" if may_exist(home) else ", which is not made yet"
        yield f"Index, timeline, memory and logs are in {home}{unmade}."
        yield from _check_writable(home)
        for path in self._paths_open_to_others():
            yield Problem(
                what=f"{path} can be read by other users of this machine.",
                hint="--repair makes it readable by you alone.",
                repairable=True,
            )
        for name in (name_cloud(home), name_network(home)):
            if name:
                yield (
                    f"{home} lies {name}: a database there may be damaged. Set COMMONPLACE_HOME "
                    "to a folder of this machine alone."
                )

    def _finding_index_problems(self) -> AbstractContextManager[Callable[[], list[Problem]]]:
        """A function that finds what is wrong with the index: nothing if it cannot be examined."""
        from commonplace.index.sqlite.index import SqliteOwnerIndex

        index = self._app.index
        if isinstance(index, SqliteOwnerIndex):
            return index.finding_problems()
        return nullcontext(index.problems if isinstance(index, Repairable) else list)

    def _check_index(self, find_problems: Callable[[], list[Problem]]) -> Iterator[Finding]:
        index = self._app.index
        if missing := self._app.shared.missing_vectors:
            yield Problem(what=missing.located, hint=missing.located_hint)
        is_there = may_exist(self._app.folder / "index" / FILE_NAME)
        problems = find_problems()
        yield from problems
        if problems:
            return
        yield from self._count_index(is_there=is_there)
        if is_there and isinstance(index, Erasing) and index.has_remains():
            yield "It may hold bytes of deleted or altered text until the next start."

    def _check_language(self) -> Iterator[Finding]:
        client = self._app.languages.client()
        if client is None:
            yield "No language model is set (llm.url): summaries and merges do without one."
            return
        answers = "answers" if client.check() else "is there, lists no models"
        budget = self._app.languages.token_budget
        spent, most = budget.spent(), budget.per_day
        seen = "may see" if client.sees_private else "never sees"
        yield f"{client.name} {answers}, and {seen} private text."
        yield f"Today it has taken {spent:,} of {most:,} tokens."

    def _check_leftovers(self) -> Iterator[Finding]:
        for each in self._app.text_places().leftovers():
            yield Problem(what=each.what, hint="--repair removes it.", repairable=True)

    def _check_drafts(self) -> Iterator[Finding]:
        for path in list_left(self._app.settings.home):
            yield Problem(
                what=f"{path} is a draft of yours that was not written.",
                hint="Write what is in it, or delete it.",
            )

    def _clear_leftovers(self) -> Iterator[str]:
        for each in list(self._app.text_places().leftovers()):
            each.clear()
            yield f"Removed: {each.what}"

    def _check_expiring(self) -> Iterator[Finding]:
        known = dict(self._app.expiring.list_expiring())
        now = self._app.clock()
        due = sorted(ref for ref, at in known.items() if at <= now)
        doubt = "" if not due or self._app.present.is_borne_out() else self._app.present.doubt()
        for ref in due:
            if self._app.expiring.is_away(ref):
                yield f"{ref} has expired; it is forgotten when its folder is back."
            elif doubt:
                yield f"{ref} has expired and is hidden, not forgotten: {doubt} {AFTER_DOUBT}"
            else:
                yield Problem(
                    what=f"{ref} has expired and is hidden, and was not forgotten.",
                    hint=f"The next search or write forgets it, or says why it cannot;"
                    f" `commonplace expire {ref} --never` lets it stay.",
                )
        if known:
            yield f"{counted_entries(len(known))} with a time to expire: `commonplace expire`."

    def _count_index(self, *, is_there: bool) -> Iterator[str]:
        if is_there:
            found = self._weights.found()
            identity = found.identity if isinstance(found, Weights) else ""
            counts = self._app.index.counts(identity)
            size = f"{self._app.index.bytes_on_disk() / 1_000_000:.1f} MB"
            yield f"Schema {SCHEMA}, {counted_entries(counts.docs)}, {size}."
            if counts.pending:
                makers = (
                    "a running server makes them, or `commonplace reindex`"
                    if identity
                    else "they are made once the weights are here"
                )
                yield f"{_wait_phrase(counts.pending)} for a vector: {makers}; words find them."
        else:
            yield "Not made yet."
        behind = self._count_unfiled(is_there=is_there)
        if behind:
            yield f"{_wait_phrase(behind)} to be filed: the next search does it."

    def _count_unfiled(self, *, is_there: bool) -> int:
        """Count the entries that the index lacks, holds in an older form, or holds though deleted.

        An index that does not exist is not made for this.
        """
        unfiled = 0
        since = NOTHING_KNOWN
        if is_there:
            since = Since(mark=None, stamps=self._app.index.known().stamps)
        for source in self._app.sources():
            with suppress(
                CommonplaceError
            ):  # a journal that cannot be read is reported by its own part
                unfiled += sum(1 for _ in source.scan(since))
        return unfiled

    def _own_paths(self) -> Iterator[Path]:
        """Our folders and the files of the index, those that exist."""
        home, folder = self._app.settings.home, self._app.folder
        index = folder / "index"
        for path in (home, home / "users", folder, folder / "keys", index):
            if os.path.isdir(path):
                yield path
        with suppress(OSError):
            files = (index / name for name in sorted(os.listdir(index)))
            yield from (x for x in files if os.path.isfile(x))

    def _paths_open_to_others(self) -> list[Path]:
        if os.name == "nt":
            return []
        return [x for x in self._own_paths() if stat.S_IMODE(os.stat(x).st_mode) & _OTHERS]

    def _restrict_folders(self) -> Iterator[str]:
        for path in self._paths_open_to_others():
            with translated(path):
                os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_OTHERS)
            yield f"Closed {path} to other users."

    def _catch_up(self, progress: Callable[[int, int], None] | None) -> Iterator[str]:
        app = self._app
        behind = self._count_unfiled(is_there=True)
        missing = self._count_missing_files()
        app.encoder.start()
        made = app.filing.catch_up(progress)
        if behind:
            yield f"Filed {counted(behind, 'change', 'changes')} of the journal."
        if made:
            yield f"Made the vectors of {counted_entries(made)}."
        written = missing - self._count_missing_files()
        if written > 0:
            yield f"Wrote {counted(written, '.embedding file', '.embedding files')}."

    def _count_missing_files(self) -> int:
        from commonplace.journals.private.source import sources_of

        return sum(1 for source in sources_of(self._app.private.files) for _ in source.wanting())


def _findings_of(check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a check finds; what stops it is the last problem of its part."""
    try:
        yield from check()
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def _check_writable(home: Path) -> Iterator[Problem]:
    """Say why nothing can be written to our home, if so."""
    there = home
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not os.path.isdir(there):
        yield Problem(
            what=f"{there} is not a folder.", hint="Move it away, or set COMMONPLACE_HOME."
        )
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Problem(
            what=f"{there} cannot be written to.",
            hint="Check its owner and mode, or set COMMONPLACE_HOME.",
        )


def _wait_phrase(count: int) -> str:
    return f"{counted_entries(count)} {'waits' if count == 1 else 'wait'}"


MOUNTS = Path("/proc/self/mounts")

_NETWORK = re.compile(
    r"(9p|afs|beegfs|ceph|cifs|davfs|glusterfs|lustre|ncpfs|nfs4?|smb3|smbfs"
    r"|fuse\.(davfs2|glusterfs|rclone|s3fs|sshfs))"
)
_CLOUDS = (
    (re.compile(r"Dropbox( \(.+\))?"), "Dropbox"),
    (re.compile(r"OneDrive( - .+)?"), "OneDrive"),
    (re.compile(r"Mobile Documents|iCloud ?Drive|com~apple~CloudDocs"), "iCloud"),
    (re.compile(r"CloudStorage"), "a cloud"),
    (re.compile(r"Google ?Drive"), "Google Drive"),
    (re.compile(r"Nextcloud"), "Nextcloud"),
    (re.compile(r"Syncthing"), "Syncthing"),
)
_MARKS = ((".stfolder", "Syncthing"), (".dropbox.cache", "Dropbox"))


def name_cloud(folder: Path) -> str:
    """Describe a synchronised folder: `in a folder that Dropbox synchronises`; else empty.

    It is recognised by the names of the folders above it, and by marker files in them.
    """
    real = Path(os.path.realpath(folder))
    for part in (real, *real.parents):
        named = next((cloud for name, cloud in _CLOUDS if name.fullmatch(part.name)), "")
        marked = next((cloud for mark, cloud in _MARKS if os.path.lexists(part / mark)), "")
        if named or marked:
            return f"in a folder that {named or marked} synchronises"
    return ""


def name_network(folder: Path, *, mounts: Path = MOUNTS) -> str:
    """Describe a network disk: `on a network disk (nfs4)`; else empty."""
    real = os.path.realpath(folder)
    if PureWindowsPath(real).drive.startswith("\\\\"):
        return "on a network disk"
    kind = _mounted_kind(Path(real), mounts)
    return f"on a network disk ({kind})" if _NETWORK.fullmatch(kind) else ""


def _mounted_kind(real: Path, mounts: Path) -> str:
    """The kind of the filesystem a path lies on: of the last mount on its longest prefix."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    longest, kind = -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) > 2:  # noqa: PLR2004  device, mount point, kind
            point = Path(re.sub(r"\\([0-7]{3})", lambda sign: chr(int(sign[1], 8)), fields[1]))
            if len(point.parts) >= longest and real.is_relative_to(point):
                longest, kind = len(point.parts), fields[2]
    return kind
