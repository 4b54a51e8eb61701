"""`commonplace memory`: what is kept of a user, from a terminal.

Never decides anything about memory: each command parses, calls one verb and shows its answer.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from commonplace.app.wiring.memory.wiring import check_known
from commonplace.core.errors import Invalid
from commonplace.core.owner_folders import parse_owner
from commonplace.core.refs import look_up
from commonplace.core.spaces import check_has_journal
from commonplace.core.values import Answer, Filter
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.calls import load_encoder, opened, written
from commonplace.doors.cli.frame import Added, Extended
from commonplace.doors.cli.options import (
    Respelled,
    all_option,
    expires_at,
    expires_option,
    form_options,
    json_option,
    yes_option,
)
from commonplace.doors.cli.output import show, show_list, show_written
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry, is_number, whole_ref
from commonplace.doors.cli.verb_commands import verb_options
from commonplace.journals.memory.entry import FIELDS, parse_kind
from commonplace.journals.memory.records import KINDS, Records, Todo
from commonplace.journals.table import JOURNALS_OF_SPACES
from commonplace.verbs.answers import one_line
from commonplace.verbs.memory.lines import list_answer, stats_answer
from commonplace.verbs.memory.service import MemoryService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.app import App

_WORDS_OF = {"message": "text", "gratitude": "text", "todo": "title", "journal": "body"}
"""What the words of the command line are, in each kind of record."""

_SHOWN, _LOOKED_AT = 20, 100
"""To-dos that `todo` lists, and the newest among which it looks for those that are open."""

_NOTHING_WITHOUT_WORDS = _WORDS_OF.keys() - {"journal"}
"""The other kind, a journal, may have a title alone."""

kind_argument = click.argument("kind", type=click.Choice(KINDS))

owner_option = click.option(
    "--owner",
    "user",
    cls=Respelled,
    former=("--user",),
    metavar="NAME",
    help="Whose memory it is (default: yours).",
)


def user_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--owner, and --format of what lists nothing."""
    return owner_option(json_option(command))


@contextmanager
def memory_of(user: str | None, *, with_encoder: bool = True) -> Iterator[MemoryService]:
    """The verbs of one user's memory alone; without the encoder for what searches nothing."""
    with opened(defers_filing=not with_encoder) as app:
        if with_encoder:
            load_encoder(app)
        with _service(app, user) as service:
            yield service


@contextmanager
def _service(app: App, user: str | None, *, may_be_new: bool = False) -> Iterator[MemoryService]:
    if user is not None and not may_be_new and _is_others(user):
        check_known(app.shared, user)
    service = app.memory.service_of(settings().owner if user is None else user)
    try:
        yield service
    finally:
        service.filing().close()
        service.store.close()


def _is_others(user: str | None) -> bool:
    return user is not None and parse_owner(user) != settings().owner


def _records(kind: str) -> Filter:
    return Filter(journals=("memory",), kinds=(kind,))


@click.group(
    cls=Extended,
    added={
        "migrate": Added("memory.migrate", "server", "Create or update the tables of Postgres."),
        "worker": Added("memory.worker", "server", "File what is saved in Postgres, of all users."),
    },
)
def memory() -> None:
    """Keep and find what is known of a user."""


_OTHER_KINDS = tuple(
    name for kind, names in FIELDS.items() if kind != "todo" for name in names if name != "title"
)


@click.command(short_help="Keep, tick or list what is to be done.")
@click.argument("words", nargs=-1)
@click.option(
    "--ref",
    metavar="REF",
    help="The to-do to tick or change: a number in the last list, a ref, or its beginning.",
)
@verb_options(MemoryService.memory_save, without=("kind", "ref", "title", *_OTHER_KINDS))
@expires_option
@owner_option
@form_options
def todo(words: tuple[str, ...], user: str | None, as_json: bool, **given: Any) -> None:
    """Keep what is to be done, tick it, or list it.

    WORDS are what is to be done. Without them and without an option the to-dos are listed, what is
    open first; `--done 1` then ticks the first of them.
    """
    is_asked = not words and expires_at() is None and all(x is None for x in given.values())
    if not is_asked:
        given |= dict.fromkeys(("title", *_OTHER_KINDS))
        show_written(_in_words(_save("todo", words, user, given)), as_json)
        return
    with memory_of(user, with_encoder=False) as service:
        listed = service.list_records("todo", limit=_LOOKED_AT)
        show_list(_open_first(listed, service.zone), as_json)


def _open_first(listed: Records, zone: tzinfo) -> Answer:
    """The newest to-dos, what is open before what is done."""
    records = sorted(listed.records, key=lambda each: isinstance(each, Todo) and each.done)
    shown = list_answer(Records(records=tuple(records[:_SHOWN])), "todo", zone)
    is_cut = len(records) > _SHOWN or listed.cursor
    more = "`commonplace memory list todo` lists all of them, a page at a time."
    notes = [f"These are {_SHOWN} of the newest. {more}"] if is_cut else []
    said = shown.text if records else "There is no to-do. Keep one: `commonplace todo WORDS`."
    facts = {"count": shown.facts["count"], "records": shown.facts["records"], "notes": notes}
    return Answer(text="\n\n".join([said, *notes]), facts=facts)


@memory.command(short_help="Keep a message, journal, to-do, gratitude or preference.")
@kind_argument
@click.argument("words", nargs=-1)
@verb_options(MemoryService.memory_save, without=("kind",))
@expires_option
@user_options
def save(kind: str, words: tuple[str, ...], user: str | None, as_json: bool, **given: Any) -> None:
    """Save something of KIND, or change the one that --ref names.

    WORDS are the text of a message or gratitude, the title of a to-do, the body of a journal. A
    message that is added without --role is the user's. --ref takes a number in the last list too.
    """
    show_written(_save(kind, words, user, given), as_json)


def _save(kind: str, words: Sequence[str], user: str | None, given: dict[str, Any]) -> Answer:
    """Save words as a kind of record, or change the one that `ref` names. given: as the verb's."""
    if len(words) == 1 and _is_ticked(words[0], given):
        given["ref"] = words[0]
    elif words:
        given.update(_named_words(kind, " ".join(words), given))
    elif kind in _NOTHING_WITHOUT_WORDS and given["ref"] is None and given[_WORDS_OF[kind]] is None:
        raise Invalid(
            f"There are no words to keep as a {'to-do' if kind == 'todo' else kind}.",
            hint=f"Give them: `commonplace {_command_of(kind)} WORDS`.",
        )
    if kind == "message" and given["role"] is None and given["ref"] is None:
        given["role"] = "user"
    if user is not None:
        check_has_journal(user, "memory", JOURNALS_OF_SPACES)
    if expires_at() is not None and _is_others(user):
        raise Invalid(
            "What is kept for another user cannot expire here.",
            hint="Leave out --expires; the tool `memory_save` over HTTP and the library's `Memory`"
            " take one for every user.",
        )
    with (
        opened(defers_filing=True) as app,
        _service(app, user, may_be_new=given["ref"] is None) as service,
    ):
        tool = service.write_toolset(lambda: service).tool("memory_save")

        is_elsewhere = _is_others(user) and not is_number(given["supersedes"] or "")
        replaceable = None if is_elsewhere else _records(kind)

        def save_to(ref: str | None) -> Answer:
            call = {"kind": kind, **given, "ref": ref}
            return written(app, tool, call, within=replaceable, is_own=not _is_others(user))

        named = given["ref"]
        if named is None:
            return save_to(None)
        if _is_others(user) and not is_number(named):
            return save_to(named)
        return find_entry(app, named, save_to, within=_records(kind))


def _is_ticked(word: str, given: dict[str, Any]) -> bool:
    """Whether a lone word beside `--done` names a to-do: no to-do is called 1, and done."""
    is_named = is_number(word) or word.startswith("memory:todo/")
    return is_named and given["done"] is not None and given["ref"] is None


def _in_words(saved: Answer) -> Answer:
    """The answer to a write, on a terminal its words alone: lists lead to it."""
    if "done" not in saved.facts or not sys.stdout.isatty():  # it was deleted before
        return saved
    facts = dict(saved.facts)
    notes = facts.pop("notes", ())
    said = f"{'Done' if facts['done'] else 'To do'}: {one_line(facts['text'])}"
    return Answer(text=said, facts=facts).noting(notes)


def _command_of(kind: str) -> str:
    return "todo" if kind == "todo" else f"memory save {kind}"


def _named_words(kind: str, text: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The words of the command line under the name that they have in this kind of record."""
    if kind not in _WORDS_OF:
        raise Invalid("A preference has no text.", hint="Use --language, --religion or --flags.")
    name = _WORDS_OF[kind]
    if given[name] is not None:
        raise Invalid(f"The {name} is given twice.", hint=f"Leave out the words or --{name}.")
    return {name: text}


@memory.command()
@click.argument("query", nargs=-1, required=True)
@verb_options(MemoryService.memory_search, without=("query", "filters"))
@all_option
@form_options
@owner_option
def search(
    query: tuple[str, ...], kinds: tuple[str, ...], user: str | None, as_json: bool, **given: Any
) -> None:
    """Find what is known of a user, by meaning and by words."""
    with memory_of(user) as service:
        tool = service.toolset(lambda: service).tool("memory_search")
        answer = tool.call({"query": " ".join(query), "kinds": list(kinds), **given})
        show_list(answer, as_json, about=" ".join(query), explain=given["explain"])


@memory.command(name="list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@verb_options(MemoryService.memory_list, without=("kind",))
@form_options
@owner_option
def list_records(kind: str | None, user: str | None, as_json: bool, **given: Any) -> None:
    """List what is kept, of KIND or of every kind, newest first."""
    if kind is None and given["cursor"]:
        raise Invalid("--cursor goes on with one kind.", hint=f"Name it: {', '.join(KINDS)}.")
    with memory_of(user, with_encoder=False) as service:
        tool = service.write_toolset(lambda: service).tool("memory_list")
        if kind is not None:
            show_list(tool.call({"kind": kind, **given}), as_json)
            return
        answers = [tool.call({"kind": each, **given}) for each in KINDS]
        show_list(_newest_of_all(answers, given["limit"]), as_json)


def _newest_of_all(answers: Sequence[Answer], limit: int) -> Answer:
    """The newest of what each kind's list has."""
    records = [record for each in answers for record in each.facts["records"]]
    records.sort(  # as the index has them, and so `commonplace list`
        key=lambda each: (datetime.fromisoformat(each["created_at"]), each["ref"]), reverse=True
    )
    full = [each for each in answers if each.facts["records"]]
    notes = []
    if len(records) > limit or any(each.facts["cursor"] for each in full):
        notes = [f"These are the newest {limit}. Name a kind, or a larger --limit, to see more."]
    facts = {"count": len(records[:limit]), "records": records[:limit], "notes": notes}
    texts = [each.text for each in full] or ["Nothing is kept."]
    return Answer(text="\n\n".join([*texts, *notes]), facts=facts)


@memory.command(cls=ShortRefCommand, hidden=True)  # `commonplace delete` takes every ref
@kind_argument
@click.argument("ref")
@yes_option
@user_options
def delete(kind: str, ref: str, user: str | None, yes: bool, as_json: bool) -> None:
    """Delete something of KIND for good.

    REF is its id or ref, a number in the last list, or, of the owner's own, the beginning of it or
    -1 for the newest.
    """
    with opened() as app:
        if not _is_others(user) or is_number(ref):  # what another keeps is in no index of this one
            ref = whole_ref(app, ref, within=_records(kind))
        with _service(app, user) as service:
            record = look_up(ref, lambda each: service.find(parse_kind(kind), each))
            confirm(f"Delete {record.ref} for good?", yes=yes, text=record.text)
            tool = service.write_toolset(lambda: service).tool("memory_delete")
            show(tool.call({"kind": kind, "ref": record.ref}), as_json)


@memory.command()
@user_options
def stats(user: str | None, as_json: bool) -> None:
    """Show how much is kept of a user, and how much of it can be found."""
    with memory_of(user) as service:
        show(stats_answer(service.stats(), service.zone), as_json)
