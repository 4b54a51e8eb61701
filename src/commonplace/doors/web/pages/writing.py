"""Writing: what was typed into the box or the editor goes to the verb of its kind.

Never loses what was typed: until it is written it is a draft, and a refusal shows it again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Conflict, Invalid
from commonplace.core.text import opening
from commonplace.doors.web.box import FIELDS, FORM, KINDS, find_kind, kinds_of
from commonplace.doors.web.guard import check_writes
from commonplace.doors.web.visit import Redirect, WebPage, offer_to_delete, status_of
from commonplace.search.proposed import proposal_for_people
from commonplace.verbs.amend import names_in
from commonplace.verbs.chronicle.leading_time import split_time
from commonplace.verbs.today.draft import CHOSEN, DraftText

if TYPE_CHECKING:
    from commonplace.core.values import Answer
    from commonplace.doors.web.box import WrittenKind
    from commonplace.doors.web.visit import UndoOffer, Visit

_SAID = 80
_NO_TIME = "If this is no time, give the time `now` in the editor."
_REFUSED = {"tags": "tags", "at": "time of its own", "overview": "overview"}
"""What is refused of a kind that does not take it, and what is said that it has none of."""

_QUESTION = 2000
"""The longest question that the search takes, in characters."""


def editor(visit: Visit) -> WebPage:
    """A form for longer Markdown, with all fields."""
    check_writes(visit.visitor)
    draft, path = visit.app.page_draft().read(), visit.value("path")
    begun = draft.fields.get("path", "")
    if path and begun != path and draft.fields.get("overview"):
        what = f"What you began for {visit.shown(opening(begun, _SAID))} is still here."
        return _form(visit, draft, problem=Conflict(what, hint="Write it or empty it first."))
    if path:
        return _form(visit, _of_section(visit, draft, path))
    if (kind := find_kind(visit.value("as"))) and not draft.fields.get("overview"):
        draft = DraftText(text=draft.text, fields={**draft.fields, CHOSEN: kind.name})
    return _form(visit, draft)


def keep_draft(visit: Visit) -> WebPage:
    """Keep what is being typed; says nothing but that."""
    typed = _typed(visit)
    if not typed.text.strip() and _overview_was_read(visit, typed):
        typed = DraftText()
    visit.app.page_draft().keep(typed)
    return WebPage(template="kept.html", title="Kept", is_whole=False)


def write(visit: Visit) -> Redirect | WebPage:
    """Write what was typed, find it, show it as it would look, or open the editor with it."""
    typed = _typed(visit)
    act = visit.value("do")
    draft = visit.app.page_draft()
    if act == "find" and (found := _question(typed)):
        with suppress(CommonplaceError):
            draft.drop()
        return Redirect(to=visit.url("search", q=found))
    try:
        draft.keep(typed)
    except CommonplaceError as exc:
        if act != "write":  # the next page would not have it
            return _form(visit, typed, problem=exc, status=status_of(exc, refused=400))
    if act in {"find", "editor"}:
        asked = {"q": opening(typed.text, _QUESTION)} if act == "find" else {}
        return Redirect(to=visit.url("search" if act == "find" else "editor", **asked))
    if act == "preview":
        return _form(visit, typed, preview=True)
    try:
        kind, text = _kind_of(visit, typed)
        answer = _write(visit, kind, text, typed)
    except CommonplaceError as exc:
        # The form is shown again with what was typed: no draft may be there to hold it.
        return _form(visit, typed, problem=exc, status=status_of(exc, refused=400))
    offer = _offer(visit, answer, kind)
    settled_by = f"; if so, {'undo this and ' if offer else ''}replace that one on its page."
    notes = [proposal_for_people(note, settled_by) for note in answer.facts.get("notes", ())]
    try:
        draft.drop()
    except CommonplaceError as exc:
        why = visit.explained(exc)
        notes.append(f"What was in the box could not be cleared: {why}")
    visit.app.seen_marks.keep_written(answer.written, visit.app.clock())  # its writer has seen it
    said = kind.done.format(opening(visit.shown(text), _SAID))
    return Redirect(to=visit.url("home"), notes=(said, *notes), offer=offer)


def _question(typed: DraftText) -> str:
    """What was typed, where all of it is a question, and nothing of it a draft; else nothing."""
    is_question = len(typed.text) <= _QUESTION and not set(typed.fields) - {CHOSEN}
    return typed.text if is_question else ""


def _kind_of(visit: Visit, typed: DraftText) -> tuple[WrittenKind, str]:
    """The kind that is chosen, or stands before the text (`/note …`), and the text.

    Raises: Invalid.
    """
    text, name = typed.text.strip(), typed.fields.get(CHOSEN, "") or KINDS[0].name
    if text.startswith("/"):
        before, _, rest = text[1:].partition(" ")
        if find_kind(before) is not None:
            text, name = rest.strip(), before
    kind = find_kind(name)
    if kind is None:
        raise Invalid(f"Nothing is written as {opening(name, 40)!r}.", hint="Choose what it is.")
    if kind not in kinds_of(visit.visitor.owner):
        raise Invalid(
            f"A space keeps nothing as {kind.title!r}: that is one person's.",
            hint="Choose another, or write it among your own.",
        )
    return kind, text


def _write(visit: Visit, kind: WrittenKind, text: str, typed: DraftText) -> Answer:
    if not text:
        raise Invalid("There is nothing to write.", hint="Type it into the box.")
    for name, said in _REFUSED.items():
        is_typed = name != "overview" or not _overview_was_read(visit, typed)
        if typed.fields.get(name, "").strip() and name not in kind.takes and is_typed:
            raise Invalid(
                f"What is written as {kind.title!r} has no {said}.",
                hint="Empty that field, or choose what has one.",
            )
    taken = {name: typed.fields.get(name, "").strip() for name in kind.takes}
    tags = names_in(taken.pop("tags", ""))
    given: dict[str, Any] = {kind.field: text, **kind.also}
    given |= {name: value for name, value in taken.items() if value}
    if tags:
        given["tags"] = [*tags, *kind.also.get("tags", ())]
    key = visit.once_key(kind.name, *(f"{k}={v}" for k, v in sorted(given.items())))
    given["idempotency_key"] = key  # of what was typed: sent again, `an hour ago` is another time
    if kind.toolset == "chronicle" and "at" not in given:
        now, zone = visit.app.clock(), visit.app.settings.timezone
        timed = split_time(text, now=now, zone=zone, otherwise=_NO_TIME)
        given |= {kind.field: timed.message}
        given |= {"at": timed.at.isoformat()} if timed.at else {}
    return visit.app.toolset(kind.toolset).tool(kind.tool).call(given)


def _offer(visit: Visit, answer: Answer, kind: WrittenKind) -> UndoOffer | None:
    """What takes it back, where one entry was written and its journal deletes."""
    return None if kind.toolset == "notebook" else offer_to_delete(visit.visitor, answer.written)


def _typed(visit: Visit) -> DraftText:
    """What the form sent, with the secrets again that it showed marks for."""
    fields = {name: visit.value(name) for name in FIELDS if visit.value(name)}
    return DraftText(text=visit.typed_text(FORM), fields=fields)


def _of_section(visit: Visit, draft: DraftText, path: str) -> DraftText:
    """A draft as one of a section, with its overview; one that was begun is not written over."""
    fields = {**draft.fields, CHOSEN: "notebook", "path": path}
    if fields.get("overview"):
        return draft
    try:
        section = visit.app.notebook.service().reading().read_section(path)
        fields |= {"overview": section.overview, "base_version": section.version}
    except CommonplaceError:  # a section that is not there yet has no overview
        pass
    return DraftText(text=draft.text, fields=fields)


def _overview_was_read(visit: Visit, typed: DraftText) -> bool:
    """Whether an overview is the one that the editor began with, and so was not typed."""
    path = typed.fields.get("path", "")
    read = _of_section(visit, DraftText(), path) if path else DraftText()
    return read.fields.get("overview") == typed.fields.get("overview")


def _form(
    visit: Visit,
    typed: DraftText,
    *,
    preview: bool = False,
    problem: CommonplaceError | None = None,
    status: int = 200,
) -> WebPage:
    kind, text = find_kind(typed.fields.get(CHOSEN, "")), typed.text
    return WebPage(
        template="editor.html",
        title="Write",
        values={
            "typed": visit.form_text(FORM, text),
            "fields": {name: typed.fields.get(name, "") for name in FIELDS},
            "all_kinds": kinds_of(visit.visitor.owner),
            "kind": kind or KINDS[0],
            "preview": visit.shown(text) if preview else "",
            "problem": visit.explained(problem),
        },
        status=status,
    )
