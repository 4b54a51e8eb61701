"""One entry of any journal: whole, with what stands around it, and how to correct or delete it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.text import opening
from commonplace.core.values import EditableText
from commonplace.doors.web.guard import check_writes
from commonplace.doors.web.visit import Redirect, WebPage
from commonplace.journals.private.markdown import split_frontmatter
from commonplace.journals.timeline.entry import find_rollup_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import AmendVerb
    from commonplace.doors.web.visit import Visit

SHOWN = 400_000
"""Characters of an entry that its page shows; `whole` asks for all of them."""


def entry(visit: Visit) -> WebPage:
    """One entry, whole."""
    page = visit.app.recall.service().open_ref(ref_of(visit))
    is_whole = bool(visit.value("whole"))
    text = visit.shown(page.text) if is_whole else visit.shown_opening(page.text, SHOWN)
    is_cut = not is_whole and max(len(text), len(page.text)) > SHOWN
    text = text[:SHOWN] if is_cut else text
    head, body = split_head(page.ref, text)
    period = find_rollup_key(page.ref.partition(":")[2]) if page.journal == "timeline" else ""
    return WebPage(
        template="entry.html",
        title=opening(body.lstrip("# \n"), 60),
        values={
            "page": page,
            "place": visit.place(page.journal, page.scope),
            "head": head,
            "text": body,
            "is_cut": is_cut,
            "length": len(page.text),
            "verbs": _verbs(visit, page.ref),
            "keep_days": f"{visit.app.settings.undo.keep_days:g}",
            "may_undo": _may_undo(visit, page.ref),
            "may_forget": visit.visitor.may_write and not period,
            "section": page.ref.partition(":")[2].partition("#")[0]
            if page.journal == "notebook"
            else "",
            "period": period,
        },
    )


def split_head(ref: str, text: str) -> tuple[str, str]:
    """The head of the file of a private entry, which programs read, and what was written below it.

    Of every other entry all is what was written.
    """
    return split_frontmatter(text) if ref.startswith("private:") else ("", text)


def edit(visit: Visit) -> WebPage:
    """The text of an entry in a form, to be edited or superseded."""
    check_writes(visit.visitor)
    found = _editable(visit, ref_of(visit))
    is_new = visit.value("as") == "supersede"
    _check_may(found, "supersede" if is_new else "edit")
    return _form(visit, found, found.text, is_new=is_new)


def save(visit: Visit) -> Redirect | WebPage:
    """Keep an edited text, or a new one that takes the place of another; what was typed stays."""
    service = visit.app.amend
    ref = ref_of(visit)
    text = visit.typed_text(ref)
    is_new = visit.value("as") == "supersede"
    try:
        version = visit.value("version")
        if not is_new:
            done = service.edit(ref, text, expected=version)
        else:
            # The same text again is the entry that took its place, whose ref its former bears now.
            version = "" if _successor(visit, ref) else version
            done = service.supersede(ref, text, expected=version)
    except CommonplaceError as exc:
        # The form is shown again with what was typed, whatever went wrong, so that nothing is lost.
        return _form(visit, _now(visit, ref), text, is_new=is_new, problem=exc)
    visit.app.today().seen.keep_written([ref, done.ref], visit.app.clock())
    said = (
        "Saved. The entry before stays, and says that this one took its place."
        if is_new
        else "Saved."
    )
    return Redirect(to=visit.url("entry", ref=done.ref), notes=(said, *done.notes))


def _successor(visit: Visit, ref: str) -> str:
    """The ref of the entry that took an entry's place; empty for none."""
    try:
        return visit.app.recall.service().open_ref(ref).superseded_by
    except CommonplaceError:
        return ""


def ask_delete(visit: Visit) -> WebPage:
    """Ask before an entry is deleted."""
    check_writes(visit.visitor)
    found = _editable(visit, ref_of(visit))
    _check_may(found, "delete")
    return WebPage(
        template="delete.html",
        title="Delete",
        values={
            "entry": found,
            "text": opening(split_head(found.ref, visit.shown(found.text))[1], 600),
        },
    )


def delete(visit: Visit) -> Redirect:
    """Delete an entry for good."""
    done = visit.app.amend.delete(ref_of(visit), expected=visit.value("version"))
    return Redirect(to=visit.url("home"), notes=(f"Deleted {done.ref}.", *done.notes))


def ask_undo(visit: Visit) -> WebPage:
    """Ask before the last edit of an entry is taken back."""
    check_writes(visit.visitor)
    found = visit.app.amend.find_undo(ref_of(visit))
    ref, now = found.entry.ref, visit.shown(found.entry.text)
    before = visit.shown(found.former.text) if found.former else ""
    return WebPage(
        template="undo.html",
        title="Undo",
        values={
            "entry": found.entry,
            "is_edit": found.former is not None,
            "now": opening(split_head(ref, now)[1], 600),
            "before": opening(split_head(ref, before)[1], 600),
        },
    )


def undo(visit: Visit) -> Redirect:
    """Take back the last edit of an entry, or the entry that superseded another."""
    done = visit.app.amend.undo(ref_of(visit), expected=visit.value("version"))
    if done.act == "deleted":
        return Redirect(to=visit.url("home"), notes=(f"Deleted {done.ref}.", *done.notes))
    notes = ("The last edit is taken back.", *done.notes)
    return Redirect(to=visit.url("entry", ref=done.ref), notes=notes)


def _may_undo(visit: Visit, ref: str) -> bool:
    """Whether the last edit of an entry can be taken back."""
    if not visit.visitor.may_write:
        return False
    try:
        found = visit.app.amend.find_undo(ref)
    except CommonplaceError:
        return False
    # What superseded another is deleted, where its journal deletes.
    return found.former is not None or "delete" not in found.entry.verbs


def _form(
    visit: Visit,
    found: EditableText,
    text: str,
    *,
    is_new: bool,
    problem: CommonplaceError | None = None,
) -> WebPage:
    successor = _successor(visit, found.ref) if problem and is_new else ""
    return WebPage(
        template="edit.html",
        title="Supersede" if is_new else "Edit",
        values={
            "entry": found,
            "text": visit.form_text(found.ref, text),
            "now": visit.shown(found.text) if problem and not successor else "",
            "is_new": is_new,
            "successor": successor,
            "problem": problem.explained(shows_paths=visit.shows_paths) if problem else "",
        },
        status=(503 if isinstance(problem, Unavailable) else 409) if problem else 200,
    )


def _now(visit: Visit, ref: str) -> EditableText:
    """The entry of a ref now; without text where it can no longer be read."""
    try:
        return _editable(visit, ref)
    except CommonplaceError:
        return EditableText(ref=ref, text="", version=visit.value("version"))


def _verbs(visit: Visit, ref: str) -> Sequence[AmendVerb]:
    """What the visitor may do to an entry."""
    if not visit.visitor.may_write:
        return ()
    try:
        return _editable(visit, ref).verbs
    except CommonplaceError:
        return ()


def _check_may(found: EditableText, verb: AmendVerb) -> None:
    """Refuse to ask for what the journal would refuse. Raises: Invalid."""
    if verb not in found.verbs:
        done = {"edit": "edited", "supersede": "superseded", "delete": "deleted"}[verb]
        raise Invalid(
            f"{opening(found.ref, 100)} cannot be {done}.",
            hint="The page of the entry shows what can be done with it.",
        )


def _editable(visit: Visit, ref: str) -> EditableText:
    return visit.app.amend.read_text(ref)


def ref_of(visit: Visit) -> str:
    """The ref that the address or the form names. Raises: Invalid where it names none."""
    ref = visit.value("ref")
    if not ref:
        raise Invalid("This address names no entry.", hint="Find it by the search.")
    return ref
