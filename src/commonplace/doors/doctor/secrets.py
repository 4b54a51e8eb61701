"""Looks through every journal for secrets that were written before they were screened.

Names refs and kinds, never a secret; changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import NOTHING_KNOWN, HealthReport, Problem, Put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from commonplace.app import App
    from commonplace.core.values import Doc

_SHOWN = 20
_CHUNK = 1 << 16
_STEPS = {"notebook": "Rewrite it: commonplace edit {ref}"}
REPAIRED = ("private", "chronicle", "timeline", "memory", "transcripts")
"""The journals in which a secret can be replaced: what is in them is ours alone."""
_REPAIR = "--repair replaces it."
_EDIT = "Save it again, which replaces it: commonplace edit {ref}"


def find_secrets(app: App) -> HealthReport:
    """What holds a secret, journal by journal, with the step that each needs."""
    report = HealthReport()
    counts: dict[str, int] = {}
    failed: list[tuple[str, Problem]] = []
    for part, doc, kinds in holding_secrets(app, failed):
        counts[part] = counts.get(part, 0) + 1
        if counts[part] <= _SHOWN:
            is_ours = part in REPAIRED
            hint = _REPAIR if is_ours else _STEPS.get(part, _EDIT).format(ref=doc.ref)
            found = Problem(what=f"{doc.ref} holds {kinds}.", hint=hint, repairable=is_ours)
            report.problems.append((part, found))
    report.problems.extend(failed)
    for part, count in counts.items():
        if count > _SHOWN:
            report.notes.append((part, f"{count - _SHOWN:,} more entries hold secrets."))
    report.problems.extend(("notebook", each) for each in _in_history(app))
    if report.problems:
        report.notes.append(("secrets", "Renew each where it was issued: it may have been read."))
    return report


def holding_secrets(
    app: App, failed: list[tuple[str, Problem]] | None = None
) -> Iterator[tuple[str, Doc, str]]:
    """Each entry and summary that holds a secret: its journal, what the index has of it, the kinds.

    Args:
        app: Of the owner.
        failed: Takes the journals that cannot be read; None to pass over them.
    """
    for source in app.sources():
        part = source.name.partition(":")[0]
        try:
            for change in source.scan(NOTHING_KNOWN):
                if isinstance(change, Put) and (kinds := _kinds(app, change.doc.text)):
                    yield part, change.doc, kinds
        except CommonplaceError as exc:
            if failed is not None:
                failed.append((part, Problem(what=exc.located, hint=exc.located_hint)))


def _in_history(app: App) -> Iterator[Problem]:
    """The commits of the notebook, of every branch, that hold a secret."""
    if not app.notebook.is_there():
        return
    found: dict[str, None] = {}
    hashes: list[str] = []
    try:
        repo = app.notebook.journal.repo
        log = ["log", "--all", "-p", "--no-color", "--no-ext-diff", "--no-textconv"]
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
            hint="An edit leaves them there: docs/secrets.md says how the history is rewritten.",
        )


def _commits(out: IO[bytes]) -> Iterator[str]:
    """The commits of a log, one after another: a whole history may be larger than the memory."""
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
