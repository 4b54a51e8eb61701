"""OpenCode's transcripts: a database of sessions, or, before version 1.2, a file for each part.

Version 2 has tables of its own in the same database, and leaves the former ones as they are.

Reads the database without ever writing to it; never keeps reasoning.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache

from commonplace.core.errors import Invalid
from commonplace.core.plain_files import open_regular
from commonplace.db.foreign import foreign_database
from commonplace.journals.transcripts.clients.json_lines import LONGEST_LINE, parse_line
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    Conversation,
    dict_of,
    files_below,
    instant,
    list_of,
    name_of,
    stamp_of,
    text_of,
    unknown,
    without_words,
)
from commonplace.journals.transcripts.typed_text import is_ours, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from commonplace.db.foreign import ForeignDatabase
    from commonplace.journals.transcripts.clients.parsing import Kept, Skipped
    from commonplace.journals.transcripts.message import Message

    Rows = Iterable[tuple[str, object | Skipped, list[object | Skipped]]]

_PARTS = frozenset(
    "text tool reasoning file step-start step-finish snapshot patch compaction"
    " subtask agent retry".split()
)
_TABLES = ("session", "message", "part")
_SESSIONS = "SELECT id, parent_id, directory, time_created FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY 3, 1"
_TIMES_BEFORE = (
    "SELECT m.time_created FROM message m JOIN session s ON s.id = m.session_id"
    " WHERE (s.time_created, s.id) < (?, ?) AND m.time_created < ?"
)
_PARTS_OF = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
_TABLES_2 = ("session_v2", "session_message")
_SESSIONS_2 = (
    "SELECT id, parent_id, directory, time_created, fork_session_id FROM session_v2"
    " ORDER BY time_created, id"
)
_MESSAGES_2 = (
    "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq, time_created, id"
)
_NOTES_2 = frozenset(
    "synthetic system compaction idle agent-switched model-switched location-switched".split()
)


def originals(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The database of this machine's user, and the files of sessions from before there was one."""
    shared = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return originals_in(os.path.join(shared, "opencode"))


def originals_in(folder: str) -> Iterator[tuple[str, str]]:
    """The same, of a folder that is OpenCode's own."""
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(folder))
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith("opencode") and name.endswith(".db") and os.path.isfile(path):
            yield path, ""
    sessions = os.path.join(folder, "storage", "session")
    for path in files_below(sessions, ".json"):
        yield path, os.path.basename(path).removesuffix(".json")


def stamp(path: str) -> str:
    """What the database, or the session with its messages, is now. Raises: OSError."""
    beside = [f"{path}-wal"] if path.endswith(".db") else [_messages_folder(path)]
    stamps = [stamp_of(path)]
    for other in beside:
        with suppress(OSError):
            stamps.append(stamp_of(other))
    return " ".join(stamps)


def _messages_folder(path: str) -> str:
    """Where the messages of a session's file lie."""
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    session = os.path.basename(path).removesuffix(".json")
    return os.path.join(storage, "message", session)


def conversations(path: str, kept: Kept) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
    """Each session with what was said in it. Raises: OSError, Invalid where it cannot be read."""
    return _of_database(path, kept) if path.endswith(".db") else _of_files(path, kept)


def _of_database(path: str, kept: Kept) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
    # It may have gigabytes, and is open in a client that writes to it.
    with foreign_database(path, in_place=True) as database:
        is_first, is_second = (
            all(map(database.has_table, names)) for names in (_TABLES, _TABLES_2)
        )
        if not is_first and not is_second:
            raise Invalid(
                f"The database {{place}} has no tables {', '.join(_TABLES)}.",
                hint="Name the database of OpenCode.",
                place=path,
            )
        sessions = [*database.rows(_SESSIONS)] if is_first else []
        later = [*database.rows(_SESSIONS_2)] if is_second else []
        for row in sessions:
            session = _session_of(row, kept)
            yield session.session, _said(_rows_of(database, row[0], began=row[3]), session)
        times_in = cache(lambda own: _times_of(_rows_of_2(database, own, set())))
        for number, row in enumerate(later):
            session = _session_of(row[:4], kept)
            known = _times_of(_rows_of(database, row[0])) if is_first else set()
            for other, *_ in later[:number] if row[4] else ():
                # What it forks may be gone, and another fork of it have the first copies.
                is_parent = other == row[4]
                known |= {
                    at
                    for at in times_in(other)
                    if is_parent or (isinstance(row[3], (int, float)) and at < row[3])
                }
            yield session.session, _said(_rows_of_2(database, row[0], known), session)


def _session_of(row: tuple[object, ...], kept: Kept) -> Conversation:
    own, parent, folder, at = row
    return Conversation(
        name_of(own), kept, cwd=name_of(folder), sidechain=bool(parent), at=instant(at)
    )


def _times_of(rows: Rows) -> set[float]:
    """When what another session, or the former tables, have was said: a copy has the same time."""
    times = (_created(dict_of(data)) for _own, data, _parts in rows)
    return {at for at in times if at is not None}


def _created(fields: dict[str, object]) -> float | None:
    """When a message was said, as its client counts; None where it does not say so."""
    created = dict_of(fields.get("time")).get("created")
    return created if isinstance(created, (int, float)) else None


def _rows_of_2(database: ForeignDatabase, session: object, known: set[float]) -> Rows:
    """The messages that OpenCode 2 has of a session, as rows of the former tables.

    What it brought over from these, or copied into a fork, has new ids: its times are in `known`.
    An answer that another message follows is not being made any more.
    """
    rows = [*database.rows(_MESSAGES_2, (session,))]
    for number, (own, kind, data) in enumerate(rows, 1):
        value, role = _parsed(data), text_of(kind)
        fields = dict_of(value)
        time = dict_of(fields.get("time"))
        if role in _NOTES_2 or _created(fields) in known:
            continue
        if value is BROKEN:
            yield text_of(own), BROKEN, []
            continue
        parts: list[object | Skipped] = [*map(_former_part, list_of(fields.get("content")))]
        if role == "shell":
            role, fields = "user", {**fields, "text": f"! {text_of(fields.get('command'))}"}
        if role == "user":
            files = [{**dict_of(x), "type": "file"} for x in list_of(fields.get("files"))]
            parts = [{"type": "text", "text": fields.get("text")}, *files]
        if role == "assistant" and (number < len(rows) or "finish" in fields):
            time = {"completed": None, **time}
        yield text_of(own), {**fields, "role": role, "time": time}, parts


def _former_part(part: object) -> object:
    """A part of an answer as the former tables have it."""
    fields = dict_of(part)
    if fields.get("type") != "tool":
        return part
    state = dict_of(fields.get("state"))
    return {
        "type": "tool",
        "tool": fields.get("name"),
        "state": {"output": state.get("content"), **state},
    }


def _rows_of(database: ForeignDatabase, session: object, *, began: object = None) -> Rows:
    """The messages of a session, but for what it copied at its beginning from one it forks.

    Copies have new ids and the times of what they repeat, which lie before their session's own.
    The session that was begun first keeps them: what was forked may be gone.
    """
    rows = [*database.rows(_MESSAGES, (session,))]
    known: set[object] = set()
    if isinstance(began, int) and any(isinstance(x, int) and x < began for *_, x in rows):
        known = {at for (at,) in database.rows(_TIMES_BEFORE, (began, session, began))}
    for own, data, at in rows:
        if at not in known:
            parts = [_parsed(part) for (part,) in database.rows(_PARTS_OF, (own,))]
            yield text_of(own), _parsed(data), parts


def _parsed(data: object) -> object | Skipped:
    content = data.encode() if isinstance(data, str) else data
    if not isinstance(content, bytes) or len(content) > LONGEST_LINE:
        return BROKEN
    return parse_line(content)


def _of_files(path: str, kept: Kept) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
    fields = dict_of(_file_value(path))
    session = Conversation(
        os.path.basename(path).removesuffix(".json"),
        kept,
        cwd=name_of(fields.get("directory")),
        sidechain=bool(fields.get("parentID")),
        at=instant(dict_of(fields.get("time")).get("created")),
    )
    folder = _messages_folder(path)
    parts = os.path.join(os.path.dirname(os.path.dirname(folder)), "part")

    def said() -> Rows:
        for file in files_below(folder, ".json"):
            own = os.path.basename(file).removesuffix(".json")
            below = files_below(os.path.join(parts, own), ".json")
            yield own, _file_value(file), [_file_value(part) for part in below]

    yield session.session, _said(said(), session)


def _file_value(path: str) -> object | Skipped:
    try:
        with open_regular(path) as file:
            content = file.read(LONGEST_LINE + 1)
    except OSError:
        return BROKEN
    return parse_line(content) if len(content) <= LONGEST_LINE else BROKEN


def _said(said: Rows, conversation: Conversation) -> Iterator[Message | Skipped]:
    """The messages of a session; one that is still being answered waits for the next time."""
    for own, data, parts in said:
        if data is BROKEN:
            yield BROKEN
            continue
        fields = dict_of(data)
        role, time = text_of(fields.get("role")), dict_of(fields.get("time"))
        if role not in ("user", "assistant"):
            yield unknown(role)
            continue
        if role == "assistant" and "completed" not in time and "error" not in fields:
            continue
        yield from _message(own, role, [dict_of(part) for part in parts], fields, conversation)
        yield from (BROKEN for part in parts if part is BROKEN)
        kinds = [dict_of(part).get("type") for part in parts if part is not BROKEN]
        yield from (unknown(x) for x in kinds if not isinstance(x, str) or x not in _PARTS)
        files = [dict_of(part) for part in parts if dict_of(part).get("type") == "file"]
        yield from (without_words(x.get("mime") or "file") for x in files)


def _message(
    own: str,
    role: str,
    parts: list[dict[str, object]],
    fields: dict[str, object],
    conversation: Conversation,
) -> Iterator[Message | Skipped]:
    # What is synthetic was read or written by the client: a file's text, a reminder.
    texts = [
        text_of(part.get("text"))
        for part in parts
        if part.get("type") == "text" and part.get("synthetic") is not True
    ]
    tools = [part for part in parts if part.get("type") == "tool"]
    names = [name_of(part.get("tool")) for part in tools]
    is_summary = role == "assistant" and fields.get("summary") is True
    yield from conversation.message(
        own,
        role,
        "" if is_summary else "\n\n".join(typed(x) if role == "user" else x for x in texts),
        at=instant(dict_of(fields.get("time")).get("created")),
        parent=name_of(fields.get("parentID")),
        tools=names,
    )
    if conversation.kept.tools != "all":
        return
    for number, (name, part) in enumerate(zip(names, tools, strict=True)):
        if not name or is_ours(name):
            continue
        state = dict_of(part.get("state"))
        text = json.dumps({key: state.get(key) for key in ("input", "output")}, ensure_ascii=False)
        yield from conversation.message(f"{own}:{number}", "tool", text, parent=own, tools=(name,))
