"""One entry of any journal: whole, with what stands around it, and how to correct or delete it."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, get_args

from commonplace.core.errors import CommonplaceError, Conflict, Invalid
from commonplace.core.text import opening
from commonplace.core.values import EditableText, EntryPreview
from commonplace.doors.web.guard import check_writes
from commonplace.doors.web.markdown import to_words
from commonplace.doors.web.visit import Redirect, WebPage, status_of
from commonplace.journals.private.format import is_category
from commonplace.journals.private.markdown import split_frontmatter, split_sections
from commonplace.journals.timeline.entry import find_rollup_key
from commonplace.verbs.amend import Field, check_may_undo
from commonplace.verbs.today.draft import DraftText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from commonplace.core.values import Amendment, AmendVerb, Page
    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.amend import EntryFields, Undo
    from commonplace.verbs.today.draft import PageDraft

SHOWN = 400_000
"""Characters of an entry that its page shows; `whole` asks for all of them."""

_TITLE = 90
"""The longest first line that stands as a title, in characters."""

_ROWS = 20
"""How many rows of one kind lead on from an entry before the rest is folded."""

_SIGNS = re.compile(r"[][<>*_`|~\\]|^(?:[-+#]|\d+[.)]) ")
"""What in a line is Markdown, so that a title would lose it."""


class _Titled(NamedTuple):
    """A text with its first words as a title: is_shown, where they are no part of the rest."""

    title: str
    rest: str
    is_shown: bool


def entry(visit: Visit) -> WebPage:
    """One entry, whole."""
    page = visit.app.recall.service().open_ref(ref_of(visit))
    is_whole = bool(visit.value("whole"))
    text = visit.shown(page.text) if is_whole else visit.shown_opening(page.text, SHOWN)
    is_cut = not is_whole and max(len(text), len(page.text)) > SHOWN
    text = text[:SHOWN] if is_cut else text
    head, body = split_head(page.ref, text)
    heading, body = _without_category(body) if page.journal == "private" else ("", body)
    titled = _titled(body)
    name = page.ref.partition(":")[2]
    period = find_rollup_key(name) if page.journal == "timeline" else ""
    return WebPage(
        template="entry.html",
        title=opening(titled.title, 60),
        values={
            "page": page,
            "titled": titled,
            "heading": heading,
            "place": visit.place(page.journal, page.scope),
            "head": head,
            "is_cut": is_cut,
            "length": len(page.text),
            "verbs": _verbs(visit, page.ref),
            "keep_days": f"{visit.app.settings.undo.keep_days:g}",
            "undo": _find_undo(visit, page.ref),
            "may_forget": visit.visitor.may_write and not period,
            "section": name.partition("#")[0] if page.journal == "notebook" else "",
            "session": page.ref.partition("#")[0] if page.kind in ("turn", "session") else "",
            "period": period,
            "leads": [x for x in _leads(visit, page) if x[1]],
            "rows": _ROWS,
        },
    )


def _titled(text: str) -> _Titled:
    """A text and its title: its first line, where that is a short one of its own."""
    whole = text.strip("\n")
    line, _, rest = whole.partition("\n")
    is_heading = bool(re.match(r"#{1,6} +\S", line))
    is_alone = not rest or rest.startswith("\n")
    words = line.lstrip("#").strip() if is_heading else line.strip()
    if is_heading and is_category(words):
        return _Titled(_titled(rest).title, whole, is_shown=False)
    if len(words) <= _TITLE and not _SIGNS.search(words) and (is_heading or is_alone) and words:
        return _Titled(words, rest, is_shown=True)
    return _Titled(opening(to_words(whole[: 4 * _TITLE]), _TITLE), whole, is_shown=False)


def _without_category(body: str) -> tuple[str, str]:
    """The one heading of a private entry, such as Feelings, and the text below it."""
    parts = [each for each in split_sections(body) if any(each)]
    if len(parts) == 1 and is_category(parts[0][0]):
        return parts[0]
    return "", body


def _leads(visit: Visit, page: Page) -> Iterator[tuple[str, Sequence[EntryPreview], int]]:
    """What leads on from an entry: how it hangs together with it, the first, a count."""
    for name, ref in (("Replaced by", page.superseded_by), ("Replaces", page.supersedes)):
        yield name, _previews(visit, ref), 1
    yield "Summed up in", [page.rollup] if page.rollup else [], 1
    made_from = [
        x if x.text or n >= _ROWS else next(iter(_previews(visit, x.ref)), x)
        for n, x in enumerate(page.sources)
    ]
    yield "Made from", made_from, len(made_from)
    yield "Mentioned in", page.backlinks, page.backlink_count
    near = [each for each in (page.before, page.after) if each]
    yield "Before and after", near, len(near)


def _previews(visit: Visit, ref: str) -> list[EntryPreview]:
    """An entry as a row shows it; none for no ref, and one without words where it is not there."""
    if not ref:
        return []
    try:
        found = visit.app.recall.service().open_ref(ref)
    except CommonplaceError:
        return []
    text = split_head(ref, found.text)[1]
    body = _without_category(text)[1] if found.journal == "private" else text
    return [EntryPreview(ref=found.ref, at=found.at, text=body)]


def split_head(ref: str, text: str) -> tuple[str, str]:
    """The head of the file of a private entry, which programs read, and what was written below it.

    Of every other entry all is what was written.
    """
    return split_frontmatter(text) if ref.startswith("private:") else ("", text)


def edit(visit: Visit) -> WebPage:
    """What an entry says and has in a form, to be edited or superseded."""
    check_writes(visit.visitor)
    found = visit.app.amend.read_text(ref_of(visit))
    # What its journal never alters is corrected by what takes its place.
    is_new = visit.value("as") == "supersede" or found.verbs[:1] == ("supersede",)
    _check_may(found, "supersede" if is_new else "edit")
    fields = _fields(visit, found.ref, is_new=is_new)
    kept = _draft(visit, found.ref, is_new=is_new).read()
    if not kept.has_words:
        return _form(visit, found, _parts(found), fields, is_new=is_new)
    typed = {x: kept.fields.get(x, y) for x, y in fields.items()}
    parts = _by_headings(found.ref, kept.text)
    changed = None
    if kept.fields.get("version") != found.version:
        changed = Conflict("It was changed since you began.", hint="Compare, then save.")
    return _form(visit, found, parts, typed, is_new=is_new, problem=changed, is_draft=True)


def keep_draft(visit: Visit) -> WebPage:
    """Keep what is being typed into the form of an entry, unless that is what it says."""
    check_writes(visit.visitor)
    found = visit.app.amend.read_text(ref_of(visit))
    is_new = visit.value("as") == "supersede"
    parts, fields = _typed(visit, found.ref)
    draft = _draft(visit, found.ref, is_new=is_new)
    if parts == _parts(found) and fields == _fields(visit, found.ref, is_new=is_new):
        draft.drop()
    else:
        version = visit.value("version")
        given = {str(name): value for name, value in fields.items()}
        draft.keep(DraftText(text=_joined(parts), fields={**given, "version": version}))
    return WebPage(template="kept.html", title="Kept", is_whole=False)


def save(visit: Visit) -> Redirect | WebPage:
    """Keep what was edited, or a new text that takes the place of another; what was typed stays."""
    ref = ref_of(visit)
    is_new = visit.value("as") == "supersede"
    if visit.value("do") == "cancel":
        _draft(visit, ref, is_new=is_new).drop()
        return Redirect(to=visit.url("entry", ref=ref))
    parts, fields = _typed(visit, ref)
    try:
        done = _saved(visit, ref, _joined(parts), fields, is_new=is_new)
    except CommonplaceError as exc:
        # The form is shown again with what was typed, whatever went wrong, so that nothing is lost.
        return _form(visit, _now(visit, ref), parts, fields, is_new=is_new, problem=exc)
    notes = list(done.notes)
    try:
        _draft(visit, ref, is_new=is_new).drop()
    except CommonplaceError as exc:
        notes.append(f"What you typed could not be cleared: {visit.explained(exc)}")
    visit.app.seen_marks.keep_written([ref, done.ref], visit.app.clock())
    said = (
        "Saved. The entry before stays, and says that this one took its place."
        if is_new
        else "Saved."
    )
    return Redirect(to=visit.url("entry", ref=done.ref), notes=(said, *notes))


def _saved(visit: Visit, ref: str, text: str, fields: EntryFields, *, is_new: bool) -> Amendment:
    service, version = visit.app.amend, visit.value("version")
    if not is_new:
        text = _headed(visit, ref, text)
        return service.edit_fields(ref, text, fields, expected=version)
    # The same text again is the entry that took its place, whose ref its former bears now.
    version = "" if _successor(visit, ref) else version
    return service.supersede(ref, text, expected=version, fields=fields)


def _draft(visit: Visit, ref: str, *, is_new: bool) -> PageDraft:
    """What is being typed into a form of an entry."""
    return visit.app.page_draft().of_entry(ref, "supersede" if is_new else "edit")


def _fields(visit: Visit, ref: str, *, is_new: bool = False) -> EntryFields:
    """What else of an entry can be given here; no folder, where none may be known."""
    amend = visit.app.amend
    fields = amend.read_successor_fields(ref) if is_new else amend.read_fields(ref)
    return {x: y for x, y in fields.items() if x != "project" or visit.shows_paths}


def _parts(found: EditableText) -> list[tuple[str, str]]:
    """The text of an entry as it is edited: a private one by its headings, any other whole."""
    return _by_headings(found.ref, split_head(found.ref, found.text)[1])


def _by_headings(ref: str, text: str) -> list[tuple[str, str]]:
    if not ref.startswith("private:"):
        return [("", text)]
    return [each for each in split_sections(text) if any(each)] or [("", "")]


def _typed(visit: Visit, ref: str) -> tuple[list[tuple[str, str]], Mapping[Field, str]]:
    """The texts that a form sent, each below its heading, and the fields that it showed."""
    texts, headings = visit.typed_texts(ref), visit.form.get("heading", [])
    parts = [*zip(headings, texts, strict=True)] if len(headings) == len(texts) else []
    shown = visit.value("fields").split(",")
    sent = {*visit.form, "done"}  # a box that is not ticked is not sent
    names = [x for x in get_args(Field) if x in shown and x in sent]
    return parts or [("", texts[-1])], {x: visit.value(x) for x in names}


def _joined(parts: Sequence[tuple[str, str]]) -> str:
    """The text below each heading; one that was emptied takes its heading along."""
    said = [(heading, text) for heading, text in parts if text.strip()]
    return "\n\n".join(f"## {heading}\n\n{text}" if heading else text for heading, text in said)


def _headed(visit: Visit, ref: str, text: str) -> str:
    """A new text of a private entry below the head of its file, so that none is taken out of it."""
    if not ref.startswith("private:") or not text.strip():
        return text
    head = split_head(ref, visit.app.amend.read_text(ref).text)[0]
    return f"{head}\n{text}\n" if head else text


def _successor(visit: Visit, ref: str) -> str:
    """The ref of the entry that took an entry's place; empty for none."""
    try:
        return visit.app.recall.service().open_ref(ref).superseded_by
    except CommonplaceError:
        return ""


def ask_delete(visit: Visit) -> WebPage:
    """Ask before an entry is deleted."""
    check_writes(visit.visitor)
    found = visit.app.amend.read_text(ref_of(visit))
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
    check_may_undo(found)
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


def _find_undo(visit: Visit, ref: str) -> dict[str, object]:
    """What of an entry can be taken back: the text before, and until when it said that."""
    if not visit.visitor.may_write:
        return {}
    try:
        found: Undo = visit.app.amend.find_undo(ref)
        check_may_undo(found)
    except CommonplaceError:
        return {}
    if found.former is not None:
        before = split_head(ref, visit.shown(found.former.text))[1]
        return {"before": before, "at": datetime.fromtimestamp(found.former.at, UTC)}
    # What superseded another is deleted, where its journal deletes.
    return {} if "delete" in found.entry.verbs else {"before": "", "at": None}


def _form(
    visit: Visit,
    found: EditableText,
    parts: Sequence[tuple[str, str]],
    fields: EntryFields,
    *,
    is_new: bool,
    problem: CommonplaceError | None = None,
    is_draft: bool = False,
) -> WebPage:
    """The form with texts and fields. is_draft: Whether they are what was kept of a form before."""
    successor = _successor(visit, found.ref) if problem and is_new else ""
    theirs: EntryFields = {}
    if problem and not is_new:
        with suppress(CommonplaceError):
            now = _fields(visit, found.ref)
            theirs = {x: y for x, y in now.items() if y != fields.get(x, y)}
    return WebPage(
        template="edit.html",
        title="Write what holds now" if is_new else "Correct",
        values={
            "entry": found,
            "parts": [(heading, visit.form_text(found.ref, text)) for heading, text in parts],
            "fields": fields,
            "now": visit.shown(_joined(_parts(found))) if not successor else "",
            "theirs": theirs,
            "is_new": is_new,
            "successor": successor,
            "problem": visit.explained(problem),
            "is_draft": is_draft,
        },
        status=200 if is_draft else status_of(problem),
    )


def _now(visit: Visit, ref: str) -> EditableText:
    """The entry of a ref now; without text where it can no longer be read."""
    try:
        return visit.app.amend.read_text(ref)
    except CommonplaceError:
        return EditableText(ref=ref, text="", version=visit.value("version"))


def _verbs(visit: Visit, ref: str) -> Sequence[AmendVerb]:
    """What the visitor may do to an entry."""
    if not visit.visitor.may_write:
        return ()
    try:
        return visit.app.amend.read_text(ref).verbs
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


def ref_of(visit: Visit) -> str:
    """The ref that the address or the form names. Raises: Invalid where it names none."""
    ref = visit.value("ref")
    if not ref:
        raise Invalid("This address names no entry.", hint="Find it by the search.")
    return ref
