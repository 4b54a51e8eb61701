"""Looks through every journal for secrets that were written before they were screened.

Names refs and kinds, never a secret; changes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from commonplace.core.drafts import FOLDER
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import translated
from commonplace.core.redact import texts_in
from commonplace.core.values import NOTHING_KNOWN, HealthReport, Problem, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from commonplace.app import App
    from commonplace.journals.git.repo import GitRepository

_SHOWN = 20
_CHUNK = 1 << 16
_REWRITE = "Write it again: commonplace edit {ref}"
_TAKE_OUT = "Take it out of the history: commonplace forget {ref} --rewrite-history"
REPAIRED = ("private", "chronicle", "timeline", "memory", "transcripts")
"""The journals in which a secret can be replaced: no one else has a copy of their history."""
_REPAIR = "--repair replaces it."
_EDIT = "Save it again, which replaces it: commonplace edit {ref}"
_FORGET = "It cannot be changed: commonplace forget {ref}"
_MOVE = "Give the section another name: commonplace notebook move {name} NEW-NAME"
_BOTH = "--repair replaces the rest of them; with its {fixed} it goes by: commonplace forget {ref}"
_FIXED = {
    "hostname": "machine",
    "username": "user",
    "directory": "folder",
    "cwd": "folder",
    "source": "id",
    "parent": "id",
    "ref": "address",
}
"""The fields of an entry that no edit changes, with their names in messages."""


class Holding(NamedTuple):
    """An entry or a summary that holds a secret.

    Attributes:
        kinds: The kinds of the secrets, in words.
        fixed: The field that holds one and that no edit changes; empty for none.
        has_others: Whether another field holds one too, where a fixed one does.
        is_summary: Whether it is a summary, made from entries.
    """

    journal: str
    ref: str
    kinds: str
    fixed: str = ""
    has_others: bool = False
    is_summary: bool = False

    @property
    def is_repairable(self) -> bool:
        """Whether a secret in it can be replaced by a mark."""
        return self.journal in REPAIRED and (not self.fixed or self.has_others)

    def hint(self, shown: Callable[[str], str]) -> str:
        """The next step; its command is to be pasted, and names a secret by its mark."""
        ref = _pasted(shown(self.ref))
        if self.journal == "notebook" and self.fixed:
            section = self.ref.partition(":")[2].partition("#")[0].partition("@")[0]
            return _MOVE.format(name=_pasted(shown(section)))
        if self.fixed:
            if self.is_repairable:
                return _BOTH.format(fixed=self.fixed, ref=ref)
            return _FORGET.format(ref=ref)
        if self.is_repairable:
            return _REPAIR
        if self.journal == "notebook":
            is_overview = not set("#@") & set(self.ref)
            return (_REWRITE if is_overview else _TAKE_OUT).format(ref=ref)
        return _EDIT.format(ref=ref)


def find_secrets(app: App) -> HealthReport:
    """What holds a secret, journal by journal, with the step that each needs."""
    report = HealthReport()
    counts: dict[str, int] = {}
    failed: list[tuple[str, Problem]] = []
    shown = app.shared.screen.shown
    for held in holding_secrets(app, failed):
        part = held.journal
        counts[part] = counts.get(part, 0) + 1
        if counts[part] <= _SHOWN:
            where = f" in its {held.fixed}" if held.fixed else ""
            what = shown(f"{held.ref} holds {held.kinds}{where}.")
            found = Problem(what=what, hint=held.hint(shown), repairable=held.is_repairable)
            report.problems.append((part, found))
    report.problems.extend(failed)
    for part, count in counts.items():
        if count > _SHOWN:
            report.notes.append((part, f"{count - _SHOWN:,} more entries hold secrets."))
    report.problems.extend(("notebook", each) for each in _in_history(app))
    report.problems.extend(("drafts", each) for each in _in_drafts(app))
    if report.problems:
        report.notes.append(("secrets", "Renew each where it was issued: it may have been read."))
    return report


def holding_secrets(app: App, failed: list[tuple[str, Problem]] | None = None) -> Iterator[Holding]:
    """Each entry and summary that holds a secret, in its text or in any other field.

    failed: Collects the journals that cannot be read; None to skip them.
    """
    with suppress(CommonplaceError):  # of other projects an export reads only the copies
        app.private.files.recovery.copy_all()
    seen: set[str] = set()
    for held in chain(_in_items(app, failed), _in_docs(app, failed)):
        if held.ref not in seen:
            seen.add(held.ref)
            yield held


def _in_items(app: App, failed: list[tuple[str, Problem]] | None) -> Iterator[Holding]:
    """The entries with a secret in any field: tags, names, metadata, drafts."""
    for journal in app.journals:
        try:
            portable = journal.portable() if journal.is_there() else None
            for item in () if portable is None else portable.export_items(None):
                fields = msgspec.to_builtins(item)
                if kinds := _kinds(app, "\n\n".join(texts_in(fields))):
                    names = (name for name in _FIXED if isinstance(fields.get(name), str))
                    held = (_FIXED[name] for name in names if _kinds(app, fields[name]))
                    fixed = next(held, "")
                    rest = {x: each for x, each in fields.items() if x not in _FIXED}
                    others = bool(fixed) and bool(_kinds(app, "\n\n".join(texts_in(rest))))
                    yield Holding(journal.name, item.ref, kinds, fixed, others)
        except CommonplaceError as exc:
            _note(failed, journal.name, exc)


def _pasted(word: str) -> str:
    """A word of a command as a shell takes it; `#` inside of one begins no comment."""
    plain = word.replace("#", "")
    return word if quote(plain) == plain else quote(word)


def _in_docs(app: App, failed: list[tuple[str, Problem]] | None) -> Iterator[Holding]:
    """The docs with a secret in their text, which are summaries and projects' entries too."""
    for source in app.entries():
        part = source.name.partition(":")[0]
        try:
            for change in source.scan(NOTHING_KNOWN):
                if isinstance(change, Put) and (kinds := _kinds(app, change.doc.text)):
                    is_summary = bool(change.doc.covers)
                    yield Holding(part, change.doc.ref, kinds, is_summary=is_summary)
        except CommonplaceError as exc:
            _note(failed, part, exc)


def _note(failed: list[tuple[str, Problem]] | None, part: str, exc: CommonplaceError) -> None:
    found = (part, Problem(what=exc.located, hint=exc.located_hint))
    if failed is not None and found not in failed:
        failed.append(found)


def _in_history(app: App) -> Iterator[Problem]:
    """The commits of the notebook, of every branch, that hold a secret."""
    if app.notebook.is_shared or not app.notebook.is_there():
        return
    found: dict[str, None] = {}
    hashes: list[str] = []
    try:
        repo = app.notebook.repository.repo
        yield from _in_tags(app, repo)
        # Of a merge, as a stash is one too, what it has of its own.
        log = ["log", "--all", "-p", "--cc", "--no-color", "--no-ext-diff", "--no-textconv"]
        with repo.git.stream([*log, "--format=%x00%h%n%B"]) as out:
            for each in _commits(out):
                if kinds := _kinds(app, each):
                    hashes.append(each.partition("\n")[0])
                    found[kinds] = None
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)
    if hashes:
        kinds_found = ", ".join(found)
        named = ", ".join(hashes[:5]) + (" and more" if len(hashes) > 5 else "")  # noqa: PLR2004
        yield Problem(
            what=f"{len(hashes):,} commits of the history hold secrets ({kinds_found}): {named}.",
            hint="An edit leaves them there. docs/secrets.md says how the history is rewritten.",
        )


def _in_drafts(app: App) -> Iterator[Problem]:
    """The texts that an editor was left with and that could not be written, where one holds one."""
    folder = app.settings.home / FOLDER
    try:
        with translated(folder):
            for path in sorted(x for x in folder.rglob("[!.]*") if x.is_file()):
                if kinds := _kinds(app, path.read_text("utf-8", "replace")):
                    yield Problem(
                        what=f"{path} holds {kinds}.", hint="Delete the file, or edit it."
                    )
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def _in_tags(app: App, repo: GitRepository) -> Iterator[Problem]:
    listed = repo.git.run(
        ["for-each-ref", "--format=%(refname:short)%00%(contents)%00", "refs/tags"]
    )
    parts = listed.out.decode("utf-8", "replace").split("\0")
    for name, message in zip(parts[::2], parts[1::2], strict=False):
        tag = name.strip()
        if kinds := _kinds(app, f"{tag}\n{message}"):
            yield Problem(
                what=app.shared.screen.shown(f"The message of the tag {tag} holds {kinds}."),
                hint=f"Tags are yours: {repo.shell_command} tag -d {quote(tag)}"
                if app.shared.screen.shown(tag) == tag  # git knows no marks
                else f"Tags are yours: {repo.shell_command} tag lists them, with their names.",
            )


def _commits(out: IO[bytes]) -> Iterator[str]:
    """The commits of a log, one by one, since a whole history may not fit into memory."""
    parts: list[bytes] = []
    while chunk := out.read(_CHUNK):
        *ended, rest = chunk.split(b"\0")
        for each in ended:
            yield b"".join([*parts, each]).decode("utf-8", "replace")
            parts = []
        parts.append(rest)
    yield b"".join(parts).decode("utf-8", "replace")


def _kinds(app: App, text: str) -> str:
    return ", ".join(dict.fromkeys(span.kind for span in app.shared.screen.find(text)))
