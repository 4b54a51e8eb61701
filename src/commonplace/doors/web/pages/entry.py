"""One entry of any journal: whole, with what stands around it, and how to correct or delete it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Denied, Invalid, Unavailable
from commonplace.core.text import opening
from commonplace.core.values import EditableText
from commonplace.doors.web.visit import Redirect, WebPage

if TYPE_CHECKING:
    from commonplace.doors.web.visit import Visit

SHOWN = 400_000
"""Characters of an entry that its page shows; `whole` asks for all of them."""


def entry(visit: Visit) -> WebPage:
    """One entry, whole."""
    page = visit.app.recall.service().open_ref(ref_of(visit))
    is_whole = bool(visit.value("whole"))
    text = visit.shown(page.text) if is_whole else visit.glimpse(page.text, SHOWN)
    is_cut = not is_whole and max(len(text), len(page.text)) > SHOWN
    try:
        is_altered = visit.visitor.may_write and bool(_editable(visit, page.ref))
    except CommonplaceError:
        is_altered = False
    return WebPage(
        template="entry.html",
        title=opening(text.lstrip("# "), 60),
        values={
            "page": page,
            "place": visit.place(page.journal, page.scope),
            "text": text[:SHOWN] if is_cut else text,
            "is_cut": is_cut,
            "length": len(page.text),
            "may_alter": is_altered,
            "section": page.ref.partition(":")[2].partition("#")[0]
            if page.journal == "notebook"
            else "",
        },
    )


def edit(visit: Visit) -> WebPage:
    """The text of an entry in a form, to be edited or superseded."""
    check_writes(visit)
    found = _editable(visit, ref_of(visit))
    is_new = visit.value("as") == "supersede"
    return _form(visit, found, found.text, is_new=is_new)


def save(visit: Visit) -> Redirect | WebPage:
    """Keep an edited text, or a new one that takes the place of another; what was typed stays."""
    service = visit.app.amend.service()
    ref, text = ref_of(visit), visit.form.get("text", [""])[-1]
    is_new = visit.value("as") == "supersede"
    try:
        done = (
            service.supersede(ref, text)
            if is_new
            else service.edit(ref, text, expected=visit.value("version"))
        )
    except CommonplaceError as exc:
        # The form is shown again with what was typed, whatever went wrong, so that nothing is lost.
        return _form(visit, _now(visit, ref), text, is_new=is_new, problem=exc)
    said = "Saved. The former entry stays, and names this one." if is_new else "Saved."
    return Redirect(to=visit.url("entry", ref=done.ref), notes=(said, *done.notes))


def ask_delete(visit: Visit) -> WebPage:
    """Ask before an entry is deleted."""
    check_writes(visit)
    found = _editable(visit, ref_of(visit))
    return WebPage(
        template="delete.html",
        title="Delete",
        values={"entry": found, "text": opening(visit.shown(found.text), 600)},
    )


def delete(visit: Visit) -> Redirect:
    """Delete an entry for good."""
    done = visit.app.amend.service().delete(ref_of(visit), expected=visit.value("version"))
    return Redirect(to=visit.url("home"), notes=(f"Deleted {done.ref}.", *done.notes))


def _form(
    visit: Visit,
    found: EditableText,
    text: str,
    *,
    is_new: bool,
    problem: CommonplaceError | None = None,
) -> WebPage:
    return WebPage(
        template="edit.html",
        title="Supersede" if is_new else "Edit",
        values={
            "entry": found,
            "text": text,
            "now": visit.shown(found.text) if problem and not is_new else "",
            "is_new": is_new,
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


def _editable(visit: Visit, ref: str) -> EditableText:
    return visit.app.amend.service().read_text(ref)


def ref_of(visit: Visit) -> str:
    """The ref that the address or the form names. Raises: Invalid where it names none."""
    ref = visit.value("ref")
    if not ref:
        raise Invalid("This address names no entry.", hint="Find it by the search.")
    return ref


def check_writes(visit: Visit) -> None:
    """Refuse a page that is the beginning of a change. Raises: Denied."""
    if not visit.visitor.may_write:
        raise Denied("This page only reads.", hint="Start it without --read-only.")
