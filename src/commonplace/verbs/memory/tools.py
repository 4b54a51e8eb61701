"""A user's memory in words for a model: what is known of the user is found, kept and deleted.

Decides nothing about ranking or what is kept: it reads arguments, asks the service, renders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.core.values import Answer
from commonplace.journals.memory.entry import parse_kind
from commonplace.journals.memory.records import RecordDraft, ref_of
from commonplace.verbs.answers import answer_of
from commonplace.verbs.memory.finding import IntentAsked, MemoryQuestion
from commonplace.verbs.memory.lines import found_answer, list_answer, saved_answer, stats_answer
from commonplace.verbs.times import naming, read_at
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.journals.memory.records import Kind, Record
    from commonplace.verbs.memory.service import MemoryService

KindAsked: TypeAlias = Literal["message", "journal", "todo", "preference", "gratitude"]

_GUIDE = """\
You have a memory of this user: what was said, journals, to-dos, preferences, gratitude. Ask \
memory_search before you answer what may depend on it."""

_WRITING_GUIDE = """\
Keep what the user wants remembered with memory_save, and delete with memory_delete what the user \
wants forgotten."""

_NO_CARD = "A card is shown only where COMMONPLACE_DEBUG is 1."


class MemoryTools:
    """Memory's verbs with text answers; `toolset` and `write_toolset` are what doors offer."""

    def __init__(self, service: MemoryService) -> None:
        self._service = service

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tool that searches, a method of what `opens` gives; listing it opens nothing."""
        search = Tool(
            run=cls.memory_search, title="Search the user's memory", aliases=("memory.search",)
        )
        return Toolset(name="memory", guide=_GUIDE, tools=(search,)).of(opens)

    @classmethod
    def write_toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools that keep, delete and list, methods of what `opens` gives."""
        return Toolset(
            name="memory-write",
            guide="",
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(
                    run=cls.memory_save,
                    may_expire=True,
                    title="Save to the user's memory",
                    effects=Effects(writes=True, repeatable=False),
                ),
                Tool(
                    run=cls.memory_delete,
                    title="Delete from the user's memory",
                    effects=Effects(writes=True, destroys=True),
                ),
                Tool(run=cls.memory_list, title="List the user's memory"),
            ),
        ).of(opens)

    def memory_search(
        self,
        *,
        query: Annotated[str, Arg("What you look for, in words.")],
        kinds: Annotated[
            list[str], Arg("Only these: message, journal, todo, preference, gratitude.")
        ] = [],
        filters: Annotated[dict[str, Any], Arg('The same as {"kinds": […]}.')] = {},
        top_k: Annotated[int | None, Arg("How many at most; else 8.", 1, 100)] = None,
        when: Annotated[str, Arg("Only this time: 'last week', '2026-10'.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        intent: Annotated[
            IntentAsked, Arg("planning prefers to-dos, journaling journals; auto: by the words.")
        ] = "auto",
        diverse: Annotated[bool, Arg("At most 5 of one kind.")] = False,
        unsure: Annotated[bool, Arg("Misheard? Prefers the last day.")] = False,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
        debug: Annotated[bool, Arg("With a diagnostic card, where that is allowed.")] = False,
    ) -> Answer:
        """Memory: find what is known of this user, by meaning and by words.

        Use it before you answer what may depend on earlier chats, journals, to-dos or preferences.
        Returns snippets, best first, recent ones before older ones that fit as well.
        """
        with naming("query", about="The query "):
            found = self._service.search(
                MemoryQuestion(
                    text=query,
                    kinds=_kinds(kinds, filters),
                    top_k=top_k,
                    when=when,
                    as_of=as_of,
                    intent=intent,
                    diverse=diverse,
                    unsure=unsure,
                )
            )
        card = debug and self._service.shows_cards
        answer = found_answer(found, explain=explain or card, card=card)
        if debug and not card:
            return Answer(answer.text, lambda: answer.noting([_NO_CARD]).facts)
        return answer

    def memory_save(
        self,
        *,
        kind: Annotated[KindAsked, Arg("What it is.")],
        text: Annotated[str, Arg("Of a message or gratitude.")] = "",
        role: Annotated[str, Arg("Who said a message: user or assistant.")] = "",
        title: Annotated[str, Arg("Of a journal or to-do.")] = "",
        body: Annotated[str, Arg("Of a journal.")] = "",
        is_draft: Annotated[
            bool | None, Arg("A journal's draft is kept, but not searched.")
        ] = None,
        done: Annotated[bool | None, Arg("Whether a to-do is done.")] = None,
        language: Annotated[str, Arg("A preference.")] = "",
        religion: Annotated[str, Arg("A preference.")] = "",
        flags: Annotated[dict[str, Any], Arg("Other preferences by name; null removes one.")] = {},
        ref: Annotated[str, Arg("Ref of the record to change; none adds one.")] = "",
        at: Annotated[str, Arg("When it was, if not now.")] = "",
        idempotency_key: Annotated[str, Arg("Same key, same entry.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
    ) -> Answer:
        """Memory: keep a message, journal, to-do, gratitude or preference of this user.

        Use it when the user wants something remembered, or finishes a to-do. What you leave out of
        a change stays. Messages are never altered. Returns its ref.
        """
        service = self._service
        given: dict[str, Any] = {"text": text, "role": role, "title": title, "body": body}
        given |= {"is_draft": is_draft, "done": done, "flags": flags or None}
        given |= {"language": language, "religion": religion}
        draft = RecordDraft(
            kind=kind,
            fields={name: value for name, value in given.items() if value not in ("", None)},
            ref_id=ref,
            at=read_at(service, at),
            key=idempotency_key,
            supersedes=supersedes.strip(),
        )
        return saved_answer(service.save(draft), kind, service.zone)

    def memory_delete(
        self,
        *,
        kind: Annotated[KindAsked, Arg("What it is.")],
        ref: Annotated[str, Arg("Its ref, as shown.")],
    ) -> Answer:
        """Memory: delete something of this user for good.

        Use it when the user wants it forgotten. No text of it stays anywhere.
        """
        service = self._service
        notes = service.delete(kind, ref)
        shown = ref if ref.startswith("memory:") else ref_of(kind, ref)
        facts = {"kind": kind, "ref": shown, "deleted": True}
        return answer_of([f"Deleted {shown}."], facts, notes)

    def memory_list(
        self,
        *,
        kind: Annotated[KindAsked, Arg("What to list.")],
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        cursor: Annotated[str, Arg("From the answer before.")] = "",
    ) -> Answer:
        """Memory: list what is kept of this user, newest first, with refs.

        Use it to go through to-dos, or to find the ref of what is to be altered or deleted.
        """
        service = self._service
        listed = service.list_records(kind, limit=limit, cursor=cursor.strip())
        return list_answer(listed, kind, service.zone)

    def find(self, kind: str, ref: str) -> Record:
        """What a deletion would take, for people; see `MemoryService.find`."""
        return self._service.find(parse_kind(kind), ref)

    def stats(self) -> Answer:
        """How much is kept and can be found; for people, no model is offered it."""
        service = self._service
        return stats_answer(service.stats(), service.zone)


def _kinds(kinds: Sequence[str], filters: Mapping[str, Any]) -> tuple[Kind, ...]:
    for name in filters:
        if name != "kinds":
            raise Invalid(f"Invalid filters: {opening(name, 60)!r}.", hint="Use kinds.")
    more = filters.get("kinds") or []
    if not isinstance(more, list) or not all(isinstance(x, str) for x in more):
        raise Invalid(
            "Invalid filters: kinds must be a list of texts.", hint='Use {"kinds": ["todo"]}.'
        )
    return tuple(dict.fromkeys(parse_kind(x) for x in (*kinds, *more)))
