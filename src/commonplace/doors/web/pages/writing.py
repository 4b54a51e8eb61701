"""Writing: what was typed into the box or the editor goes to the verb of its kind.

Never loses what was typed: until it is written it is a draft, and a refusal shows it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.text import opening
from commonplace.doors.web.box import FIELDS, FORM, KINDS, find_kind
from commonplace.doors.web.guard import check_writes
from commonplace.doors.web.visit import Redirect, UndoOffer, WebPage
from commonplace.verbs.today.draft import DraftText

if TYPE_CHECKING:
    from commonplace.core.values import Answer
    from commonplace.doors.web.box import WrittenKind
    from commonplace.doors.web.visit import Visit

_SAID = 80
_DONE = {
    "todo": "To do: {}",
    "notebook": "Written: {}",
    "log": "Logged: {}",
    "decision": "Logged: {}",
}
"""What is said of what was written, by its kind; of any other that it was kept."""


def editor(visit: Visit) -> WebPage:
    """A form for longer Markdown, with all fields."""
    check_writes(visit.visitor)
    return _form(visit, _draft(visit))


def keep_draft(visit: Visit) -> WebPage:
    """Keep what is being typed; says nothing but that."""
    visit.app.page_draft().keep(_typed(visit))
    return WebPage(template="kept.html", title="Kept", is_whole=False)


def write(visit: Visit) -> Redirect | WebPage:
    """Write what was typed, find it, show it as it would look, or open the editor with it."""
    typed = _typed(visit)
    act = visit.value("do")
    if act == "find":
        visit.app.page_draft().drop()
        return Redirect(to=visit.url("search", q=opening(typed.text, 2000)))
    visit.app.page_draft().keep(typed)
    if act == "editor":
        return Redirect(to=visit.url("editor"))
    if act == "preview":
        return _form(visit, typed, preview=True)
    try:
        kind, text = _kind_of(typed)
        answer = _write(visit, kind, text, typed)
    except CommonplaceError as exc:
        # Whatever went wrong: what was typed stands in the form again, and in the draft.
        return _form(visit, typed, problem=exc)
    visit.app.page_draft().drop()
    visit.app.today().seen.keep([*answer.written], visit.now)  # its writer has seen it
    said = _DONE.get(kind.name, "Kept: {}").format(opening(visit.shown(text), _SAID))
    return Redirect(
        to=visit.url("home"),
        notes=(said, *answer.facts.get("notes", ())),
        offer=_offer(answer, kind),
    )


def _kind_of(typed: DraftText) -> tuple[WrittenKind, str]:
    """The kind that is chosen, or stands before the text (`/note …`), and the text.

    Raises: Invalid.
    """
    text = typed.text.strip()
    if text.startswith("/"):
        name, _, rest = text[1:].partition(" ")
        if (named := find_kind(name)) is not None:
            return named, rest.strip()
    kind = find_kind(typed.fields.get("as", "") or KINDS[0].name)
    if kind is None:
        name = opening(typed.fields["as"], 40)
        raise Invalid(f"Nothing is written as {name!r}.", hint="Choose what it is.")
    return kind, text


def _write(visit: Visit, kind: WrittenKind, text: str, typed: DraftText) -> Answer:
    if not text:
        raise Invalid("There is nothing to write.", hint="Type it into the box.")
    given: dict[str, Any] = {kind.field: text}
    if kind.tool == "memory_save":
        given["kind"] = "todo"
    for name in kind.takes:
        if value := typed.fields.get(name, "").strip():
            given[name] = value
    if "tags" in kind.takes:
        tags = [each.strip("# ") for each in str(given.get("tags", "")).split(",")]
        given["tags"] = [each for each in (*tags, kind.tag) if each]
    return visit.app.toolset(kind.toolset).tool(kind.tool).call(given)


def _offer(answer: Answer, kind: WrittenKind) -> UndoOffer | None:
    """What takes it back, where one entry was written and its journal deletes."""
    if kind.toolset == "notebook" or len(answer.written) != 1:
        return None
    ((ref, version),) = answer.written.items()
    return UndoOffer(page="delete", fields={"ref": ref, "version": version})


def _typed(visit: Visit) -> DraftText:
    """What the form sent, with the secrets again that it showed marks for."""
    fields = {name: visit.value(name) for name in FIELDS if visit.value(name)}
    return DraftText(text=visit.typed_text(FORM), fields=fields)


def _draft(visit: Visit) -> DraftText:
    """The draft, with the section that the address names."""
    draft = visit.app.page_draft().read()
    path = visit.value("path")
    if not path:
        return draft
    fields = {**draft.fields, "as": "notebook", "path": path}
    try:
        section = visit.app.notebook.service().reading().read_section(path)
        fields |= {"overview": section.overview, "base_version": section.version}
    except CommonplaceError:  # a section that is not there yet has no overview
        pass
    return DraftText(text=draft.text, fields=fields)


def _form(
    visit: Visit,
    typed: DraftText,
    *,
    preview: bool = False,
    problem: CommonplaceError | None = None,
) -> WebPage:
    kind, text = find_kind(typed.fields.get("as", "")), typed.text
    return WebPage(
        template="editor.html",
        title="Write",
        values={
            "typed": visit.form_text(FORM, text),
            "fields": {name: typed.fields.get(name, "") for name in FIELDS},
            "all_kinds": KINDS,
            "kind": kind or KINDS[0],
            "preview": visit.shown(text) if preview else "",
            "problem": problem.explained(shows_paths=visit.shows_paths) if problem else "",
        },
        status=200 if problem is None else 503 if isinstance(problem, Unavailable) else 400,
    )
