"""Exports and sessions that are kept as documents: zip or not, one or many, and hostile ones."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing

import pytest
from tests.cases import cases
from tests.journals.transcripts.originals import clock, write_lines
from tests.peak_memory import peak_memory

from commonplace.core.errors import Invalid
from commonplace.journals.transcripts.clients import load_client
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    OF_SUB_AGENT,
    UNKNOWN,
    Kept,
    Skipped,
    unknown,
    without_words,
)
from commonplace.journals.transcripts.copying import copy_new
from commonplace.journals.transcripts.store import TranscriptStore

CLAUDE_AI = {
    "uuid": "c1",
    "name": "Soup",
    "created_at": clock(0),
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "How?", "created_at": clock(1), "content": []},
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "Slowly. [tool]",
            "created_at": clock(2),
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Slowly."},
                {"type": "tool_use", "name": "web_search", "input": {}},
            ],
        },
    ],
}


def node(own, role, text, second, *, parent=None, kind="text", **more):
    message = {
        "id": own,
        "author": {"role": role},
        "create_time": 1795341600.0 + second,
        "content": {"content_type": kind, "parts": [text]},
        "recipient": "all",
        "metadata": {},
        **more,
    }
    return {"id": own, "message": message, "parent": parent, "children": []}


CHATGPT = {
    "id": "c1",
    "conversation_id": "c1",
    "create_time": 1795341600.0,
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None},
        "m2": node("m2", "assistant", "Slowly.", 2, parent="m1"),
        "m1": node("m1", "user", "How?", 1),
        "m3": node("m3", "assistant", "search()", 3, recipient="web"),
        "m4": node("m4", "tool", "result", 4),
        "m5": node("m5", "user", "profile", 5, kind="user_editable_context"),
        "m6": node("m6", "assistant", "hm", 6, kind="thoughts"),
        "m7": node(
            "m7", "user", "hidden", 7, metadata={"is_visually_hidden_from_conversation": True}
        ),
    },
}


@pytest.fixture
def store(tmp_path):
    made = TranscriptStore(str(tmp_path / "transcripts"))
    yield made
    made.close()


def said(client, path, **more):
    """Of each session its messages, and what was skipped."""
    found = load_client(client).conversations(str(path), Kept(**more))
    return {session: [*messages] for session, messages in found}


def lines(messages):
    return [(x.role, x.text, x.tools) for x in messages]


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".json", json.dumps(content))
    return path


@pytest.mark.parametrize("form", ["json", "pretty", "zip", "in a folder"])
def test_an_export_of_claude_ai(tmp_path, form):
    """As an archive, or unpacked; what it thought is left out."""
    path = tmp_path / "conversations.json"
    if form == "json":
        path.write_text(json.dumps([CLAUDE_AI]))
    elif form == "pretty":
        path.write_text("\ufeff" + json.dumps([CLAUDE_AI], indent=2) + "\n")
    else:
        member = "conversations" if form == "zip" else "data-2026__conversations"
        path = zipped(tmp_path / "export.zip", users=[{}], **{member: [CLAUDE_AI]})
    assert lines(said("claude-ai", path)["c1"]) == [
        ("user", "How?", ()),
        ("assistant", "Slowly.", ("web_search",)),
    ]


def test_what_was_pasted_into_claude_ai_is_kept(tmp_path):
    """It stands in an attachment, beside the words that were typed or instead of them."""
    pasted = {"file_name": "", "extracted_content": "The lease ends on 3 March 2028."}
    asked = {**CLAUDE_AI["chat_messages"][0], "attachments": [pasted, {}, "x"]}
    alone = {**asked, "uuid": "m3", "text": "", "content": [{"type": "text", "text": ""}]}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{**CLAUDE_AI, "chat_messages": [asked, alone]}]))
    assert [x.text for x in said("claude-ai", path)["c1"]] == [
        "How?\n\nThe lease ends on 3 March 2028.",
        "The lease ends on 3 March 2028.",
    ]


def test_messages_of_chatgpt_without_a_time_stand_where_the_tree_has_them(tmp_path):
    """After the one above, with its time, and before what is later; in a circle they are kept."""
    parents = {"m4": "m3", "m3": "m2", "m2": "m1", "m1": "root", "m5": "m6", "m6": "m5"}
    nodes = {
        own: node(own, "user", own, 0, parent=parent, create_time=None)
        for own, parent in parents.items()
    }
    nodes["m1"]["message"]["create_time"] = 1795341601.0
    nodes["m4"]["message"]["create_time"] = 1795341604.0
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{**CHATGPT, "mapping": nodes}]))
    found = said("chatgpt", path)["c1"]
    assert [x.text for x in found if x.text in parents][2:] == ["m1", "m2", "m3", "m4"]
    assert [x.at for x in found][2:] == [clock(1), clock(1), clock(1), clock(4)]


def test_an_export_of_chatgpt(tmp_path):
    """All branches, in the order of time; what is hidden, thought or said to a tool is left out."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CHATGPT]))
    found = said("chatgpt", path)["c1"]
    assert lines(found) == [
        ("user", "How?", ()),
        ("assistant", "Slowly.", ()),
        ("assistant", "", ("web",)),
    ]
    assert (found[0].at, found[1].parent) == ("2026-11-22T10:00:01.000Z", "m1")


def test_an_export_in_several_files(tmp_path):
    """Large ones come so."""
    first, second = [CHATGPT], [{**CHATGPT, "conversation_id": "c2"}]
    path = zipped(tmp_path / "e.zip", **{"conversations-000": first, "conversations-001": second})
    assert [*said("chatgpt", path)] == ["c1", "c2"]


def test_an_export_is_imported_once(store, tmp_path):
    """Unchanged it is not read again; a newer one adds what is new."""
    path = zipped(tmp_path / "e.zip", conversations=[CLAUDE_AI])
    assert copy_new(store, "claude-ai", str(path), kept=Kept()).copied == 2
    assert copy_new(store, "claude-ai", str(path), kept=Kept()).copied == 0
    more = {"uuid": "m3", "sender": "human", "text": "Thanks.", "created_at": clock(9)}
    newer = {**CLAUDE_AI, "chat_messages": [*CLAUDE_AI["chat_messages"], more]}
    path = zipped(tmp_path / "newer.zip", conversations=[newer])
    done = copy_new(store, "claude-ai", str(path), kept=Kept())
    assert (done.session, done.copied) == ("c1", 1)
    assert [x.text for x in store.read("claude-ai", "c1")] == ["How?", "Slowly.", "Thanks."]


def left_out(found):
    return [x for x in found if isinstance(x, Skipped)]


def test_what_is_given_besides_words_is_counted_by_its_kind(tmp_path):
    """A picture, sound, a file whose text nobody kept; the words beside it are kept."""
    path = tmp_path / "conversations.json"
    asked = {**CLAUDE_AI["chat_messages"][0], "files": [{"file_kind": "image", "file_name": "x"}]}
    asked["attachments"] = [{"file_name": "a.bin", "extracted_content": ""}]
    path.write_text(json.dumps([{**CLAUDE_AI, "chat_messages": [asked]}]))
    *others, message = said("claude-ai", path)["c1"]
    assert (others, message.text) == ([without_words("image"), without_words("file")], "How?")
    given = {"attachments": [{"mime_type": "application/pdf"}, {"mime_type": "image/png"}]}
    shown = node("m1", "user", "What is it?", 1, kind="multimodal_text", metadata=given)
    pointer = {"content_type": "real_time_user_audio_video_asset_pointer"}
    shown["message"]["content"]["parts"] += [{"content_type": "image_asset_pointer"}, pointer]
    path.write_text(json.dumps([{**CHATGPT, "mapping": {"m1": shown}}]))
    *others, message = said("chatgpt", path)["c1"]
    assert others == [without_words(x) for x in ("image", "video", "file")]
    assert message.text == "What is it?"
    parts = [{"text": "What is it?"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]
    line = {"id": "a" * 36, "type": "user", "content": parts, "timestamp": clock(1)}
    *others, message = said("gemini", gemini(line, folder=tmp_path))["g1"]
    assert (others, message.text) == ([without_words("image/png")], "What is it?")


@cases("client", ["claude-ai", "chatgpt"])
def test_values_of_any_shape_raise_nothing(tmp_path, client):
    """They are counted."""
    odd = [None, 1e999, [], {}, "x", True, [{}]]
    one, inner = (CLAUDE_AI, "chat_messages") if client == "claude-ai" else (CHATGPT, "mapping")
    values = [*odd, *({**one, inner: value} for value in odd)]
    values += [{**one, inner: {"m": {"id": "m", "message": value}}} for value in odd]
    values += [
        {**one, inner: [{**CLAUDE_AI["chat_messages"][1], "content": value}]} for value in odd
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(values))
    found = said(client, path)
    assert found[""] == [UNKNOWN]


@pytest.mark.parametrize(
    "content",
    [
        b'[{"uuid": "c1", "chat_messages": [',
        b"[" * 200_000,
        b'[{"uuid": ' + b"9" * 5000 + b"}]",
        b'[{"uuid": "c1" "x"}]',
        b"[" + b" " * 1_000_000,
        b'["' + b"x" * (40 * 1024 * 1024),
    ],
)
def test_a_broken_export_is_counted_as_such(tmp_path, content):
    """Cut off, nested beyond measure, no JSON, endless."""
    path = tmp_path / "conversations.json"
    path.write_bytes(content)
    assert said("claude-ai", path) == {"": [BROKEN]}


def test_what_stands_before_a_broken_value_is_kept(tmp_path):
    """Where the next one begins cannot be known."""
    path = tmp_path / "conversations.json"
    path.write_bytes(json.dumps([CLAUDE_AI]).encode()[:-1] + b', {"uuid"')
    found = said("claude-ai", path)
    assert (len(found["c1"]), found[""]) == (2, [BROKEN])


def test_a_bomb_is_not_unpacked(tmp_path):
    """An archive that holds a thousand times its size is refused before it is opened."""
    path = tmp_path / "e.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as member,
    ):
        member.write(b"[")
        for _ in range(70):  # up to 64 MB nothing is refused
            member.write(b" " * 1024 * 1024)
    with pytest.raises(Invalid, match="would unpack"):
        said("claude-ai", path)


def test_what_lies_about_its_size_is_not_read_further(tmp_path):
    """An archive that declares less than it holds is read as far as it says."""
    path = zipped(tmp_path / "e.zip", conversations=[CLAUDE_AI, "x" * 1000])
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("conversations.json").file_size.to_bytes(4, "little")
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = (50).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(Invalid, match="damaged"):
        said("claude-ai", path)


def test_a_hundred_megabytes_of_white_space_take_little_memory(tmp_path):
    """However much there is, only a piece is held."""
    path = tmp_path / "conversations.json"
    with path.open("wb") as file:
        file.write(b"[")
        for _ in range(100):
            file.write(b" " * 1024 * 1024)
    with peak_memory() as most:
        assert said("claude-ai", path) == {"": [BROKEN]}
    assert most() < 30 * 1024 * 1024


@pytest.mark.parametrize("form", ["cut", "nothing", "noise"])
def test_an_archive_that_is_none_is_refused(tmp_path, form):
    """In words that name it."""
    path = zipped(
        tmp_path / "e.zip", **{"users" if form == "nothing" else "conversations": [CLAUDE_AI]}
    )
    if form == "cut":
        path.write_bytes(path.read_bytes()[:60])
    elif form == "noise":
        content = bytearray(path.read_bytes())
        content[45:80] = b"\xff" * 35
        path.write_bytes(content)
    with pytest.raises(Invalid, match="The archive"):
        said("claude-ai", path)


def gemini(*records, folder, name="session-2026-11-22T10-00-abc.jsonl"):
    first = {"sessionId": "g1", "projectHash": "p", "startTime": clock(0), "kind": "main"}
    return write_lines(folder / "chats" / name, first, *records)


def test_a_session_of_gemini(tmp_path):
    """Its lines write a message again; what was taken back was said; notes are left out."""
    answer = {"id": "b" * 36, "type": "gemini", "content": "Slowly.", "timestamp": clock(2)}
    path = gemini(
        {"$set": {"directories": ["/home/ann/shop"]}},
        {
            "id": "a" * 36,
            "type": "user",
            "content": [{"text": "How? --- a file ---"}],
            "displayContent": "How?",
            "timestamp": clock(1),
        },
        {**answer, "thoughts": [{"subject": "hm"}]},
        {**answer, "toolCalls": [{"id": "t", "name": "read_file", "args": {}, "result": "SECRET"}]},
        {"id": "c" * 36, "type": "info", "content": "Update!", "timestamp": clock(3)},
        {"$rewindTo": "b" * 36},
        {
            "$set": {
                "messages": [
                    {
                        "id": "d" * 36,
                        "type": "user",
                        "content": "<state_snapshot>\nx\n</state_snapshot>",
                    }
                ]
            }
        },
        {"hologram": 1},
        folder=tmp_path,
    )
    [(session, found)] = said("gemini", path).items()
    assert session == "g1"
    assert found[0] is UNKNOWN
    assert lines(found[1:]) == [("user", "How?", ()), ("assistant", "Slowly.", ("read_file",))]
    assert found[1].cwd == "/home/ann/shop"
    every = said("gemini", path, tools="all")["g1"]
    assert [x.text for x in every if x is not UNKNOWN][-1] == '{"args": {}, "result": "SECRET"}'


def test_a_session_of_gemini_that_names_no_folder_has_the_projects(tmp_path):
    """It stands in a file beside the chats; what is not a whole path is passed over."""
    message = {"id": "a" * 36, "type": "user", "content": "How?", "timestamp": clock(1)}
    path = gemini(message, folder=tmp_path)
    for content, cwd in [("/home/ann/shop\n", "/home/ann/shop"), ("shop", ""), ("/a\nb", "")]:
        (tmp_path / ".project_root").write_text(content)
        assert [x.cwd for x in said("gemini", path)["g1"]] == [cwd]


def test_an_older_session_of_gemini_is_one_document(tmp_path):
    """Goes on as lines in a file beside it, which repeats nothing."""
    message = {"id": "a" * 36, "type": "user", "content": "How?", "timestamp": clock(1)}
    path = tmp_path / "chats" / "session-1.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"sessionId": "g1", "projectHash": "p", "messages": [message]}))
    assert lines(said("gemini", path)["g1"]) == [("user", "How?", ())]
    gemini(message, folder=tmp_path, name="session-1.jsonl")
    found = [x for x, _ in load_client("gemini").originals_in(str(tmp_path))]
    assert [x.rpartition("/")[2] for x in found] == ["session-1.json", "session-1.jsonl"]


def test_sub_agents_of_gemini_are_left_out(tmp_path):
    """The first line of their file says so."""
    message = {"id": "a" * 36, "type": "user", "content": "Look.", "timestamp": clock(1)}
    path = gemini({"$set": {"kind": "subagent"}}, message, folder=tmp_path)
    assert said("gemini", path) == {"g1": [OF_SUB_AGENT]}
    assert [x.sidechain for x in said("gemini", path, subagents=True)["g1"]] == [True]


USER = {"role": "user", "time": {"created": 1795341601000}}
ASSISTANT = {
    "role": "assistant",
    "time": {"created": 1795341602000, "completed": 1795341603000},
    "parentID": "msg_1",
}
PARTS = {
    "msg_1": [
        {"type": "text", "text": "How?"},
        {"type": "text", "text": "file", "synthetic": True},
        {"type": "file", "mime": "image/png", "url": "data:"},
    ],
    "msg_2": [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Slowly."},
        {"type": "tool", "tool": "bash", "state": {"input": {}, "output": "SECRET"}},
        {"type": "hologram"},
    ],
}


def opencode_database(folder, *, answer=ASSISTANT):
    folder.mkdir(exist_ok=True)
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            "CREATE TABLE IF NOT EXISTS session"
            "(id TEXT, parent_id TEXT, directory TEXT, time_created INTEGER);"
            "CREATE TABLE IF NOT EXISTS message"
            "(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
            "CREATE TABLE IF NOT EXISTS part(id TEXT PRIMARY KEY, message_id TEXT, data TEXT);"
        )
        db.execute("DELETE FROM session")
        db.execute("INSERT INTO session VALUES ('ses_1', NULL, '/home/ann/shop', 1795341600000)")
        db.execute("INSERT INTO session VALUES ('ses_2', 'ses_1', '/home/ann/shop', 1795341600000)")
        for number, data in enumerate([USER, answer, "x"], 1):
            text = data if isinstance(data, str) else json.dumps(data)
            row = (f"msg_{number}", "ses_1", number, text)
            db.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?)", row)
        db.execute(
            "INSERT OR REPLACE INTO message VALUES ('msg_9', 'ses_2', 9, ?)", (json.dumps(USER),)
        )
        for message, parts in [*PARTS.items(), ("msg_9", PARTS["msg_1"])]:
            for number, part in enumerate(parts):
                row = (f"prt_{message}_{number}", message, json.dumps(part))
                db.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?)", row)
    return path


def opencode_files(folder):
    storage = folder / "storage"
    session = storage / "session" / "global" / "ses_1.json"
    write_lines(session, {"id": "ses_1", "directory": "/home/ann/shop", "time": {"created": 1}})
    for own, data in {"msg_1": USER, "msg_2": ASSISTANT}.items():
        write_lines(storage / "message" / "ses_1" / f"{own}.json", data)
        for number, part in enumerate(PARTS[own]):
            write_lines(storage / "part" / own / f"prt_{number}.json", part)
    (storage / "message" / "ses_1" / "msg_3.json").write_bytes(b"x")
    return session


@pytest.mark.parametrize("form", ["database", "files"])
def test_sessions_of_opencode(tmp_path, form):
    """From its database, and from the files of before; sub-agents have sessions of their own."""
    path = opencode_database(tmp_path) if form == "database" else opencode_files(tmp_path)
    found = said("opencode", path)["ses_1"]
    assert {*left_out(found)} == {unknown("hologram"), BROKEN, without_words("image")}
    messages = [x for x in found if not isinstance(x, Skipped)]
    assert lines(messages) == [("user", "How?", ()), ("assistant", "Slowly.", ("bash",))]
    assert messages[0].at == "2026-11-22T10:00:01.000Z"
    assert (messages[1].cwd, messages[1].parent) == ("/home/ann/shop", "msg_1")
    if form == "database":
        assert said("opencode", path)["ses_2"] == [OF_SUB_AGENT, without_words("image")]
        assert len(said("opencode", path, subagents=True)["ses_2"]) == 2
    assert [x for x, _ in load_client("opencode").originals_in(str(tmp_path))] == [str(path)]


def test_what_a_fork_of_opencode_repeats_is_kept_once(tmp_path):
    """It has new ids and its former times there; a session that was brought along stays whole."""
    path = opencode_database(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        rows = [("fork", 1, "How?"), ("fork", 1795341700001, "And so?"), ("brought", 7, "Before?")]
        for number, (session, at, text) in enumerate(rows):
            data = json.dumps({"role": "user", "time": {"created": at}})
            part = json.dumps({"type": "text", "text": text})
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"m{number}", session, at, data))
            db.execute("INSERT INTO part VALUES (?, ?, ?)", (f"p{number}", f"m{number}", part))
        for session in ("fork", "brought"):
            db.execute("INSERT INTO session VALUES (?, NULL, '/w', 1795341700000)", (session,))
    found = said("opencode", path)
    assert [x.text for x in found["fork"]] == ["And so?"]
    assert [x.text for x in found["brought"]] == ["Before?"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("forks", "expected"),
    [
        ({"a": "gone", "b": "gone"}, {"a": ["How?", "Here?"], "b": ["There?"]}),
        ({"a": "b", "b": "a"}, {"a": ["How?", "Here?"], "b": ["There?"]}),
        ({"a": "a"}, {"a": ["How?", "Here?"]}),
    ],
)
def test_what_forks_of_opencode_repeat_is_never_lost(tmp_path, version, forks, expected):
    """The first keeps it where what they fork is gone, or is said to be one of themselves."""
    path = tmp_path / "opencode.db"
    own = {"a": (1795341800001, "Here?"), "b": (1795341800002, "There?")}
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(FORKS_OF_OPENCODE)
        for session, forked in forks.items():
            began = 1795341700000 + ord(session)
            db.execute("INSERT INTO session VALUES (?, NULL, '/w', ?)", (session, began))
            values = (session, forked, began)
            db.execute("INSERT INTO session_v2 VALUES (?, NULL, ?, '/w', ?)", values)
            for at, text in [(1795341600000, "How?"), own[session]]:
                words = {"text": text, "time": {"created": at}}
                values = (f"{session}{at}", session, json.dumps({"role": "user", **words}), at)
                db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
                part = json.dumps({"type": "text", "text": text})
                db.execute("INSERT INTO part VALUES (?, ?, ?)", (values[0], values[0], part))
                values = (values[0], session, at, json.dumps(words))
                db.execute("INSERT INTO session_message VALUES (?, ?, 'user', ?, 0, ?)", values)
        tables = ("session_v2", "session_message") if version == 1 else ("session", "message")
        for table in tables:
            db.execute(f"DROP TABLE {table}")
    found = {
        x: [each.text for each in each_said] for x, each_said in said("opencode", path).items()
    }
    assert found == expected


FORKS_OF_OPENCODE = """
CREATE TABLE session(id TEXT, parent_id TEXT, directory TEXT, time_created INTEGER);
CREATE TABLE message(id TEXT, session_id TEXT, data TEXT, time_created INTEGER);
CREATE TABLE part(id TEXT, message_id TEXT, data TEXT);
CREATE TABLE session_v2(id TEXT, parent_id TEXT, fork_session_id TEXT, directory TEXT,
 time_created INTEGER);
CREATE TABLE session_message(id TEXT, session_id TEXT, type TEXT, seq INTEGER,
 time_created INTEGER, data TEXT);
"""


def test_an_answer_that_is_still_being_made_waits(store, tmp_path):
    """It is kept once it is whole."""
    path = str(opencode_database(tmp_path / "o", answer={**ASSISTANT, "time": {"created": 1}}))
    assert copy_new(store, "opencode", path, kept=Kept()).copied == 1
    opencode_database(tmp_path / "o")
    assert copy_new(store, "opencode", path, kept=Kept()).copied == 1
    assert [x.text for x in store.read("opencode", "ses_1")] == ["How?", "Slowly."]


def test_what_is_no_database_cannot_be_read(tmp_path):
    """That is an error of the file, whatever it holds."""
    path = tmp_path / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(Invalid):
        said("opencode", path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER TABLE part RENAME COLUMN data TO words", "no such column"),
        ("DROP TABLE part; CREATE VIEW part AS SELECT 1 AS data", "no tables session, message"),
    ],
)
def test_a_database_that_breaks_in_the_middle_is_an_error_of_the_file(tmp_path, change, why):
    """Also where it is found while its parts are read; a view, which may have no end, is no table."""
    path = opencode_database(tmp_path / "o")
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(change)
    with pytest.raises(Invalid, match=why):
        said("opencode", path)


def opencode_2(path):
    """What version 2 adds to a database: a session of before, a new one, a fork and an agent's."""
    session = "CREATE TABLE session_v2(id TEXT, parent_id TEXT, fork_session_id TEXT,"
    rows = [
        ("ses_1", 1, "user", {"text": "How?", "time": USER["time"]}),
        ("ses_1", 2, "user", {"text": "And now?", "time": {"created": 1795341700000}}),
        ("ses_5", 1, "user", {"text": "Where?", "time": {"created": 1795341800000}}),
        ("ses_5", 2, "assistant", SAID_2),
        ("ses_5", 3, "synthetic", {"text": "<file>", "time": {"created": 1795341804000}}),
        ("ses_5", 4, "shell", {"command": "ls", "output": "x", "time": {"created": 1795341805000}}),
        ("ses_5", 5, "hologram", {"time": {"created": 1795341806000}}),
        ("ses_5", 6, "assistant", {**SAID_2, "time": {"created": 1795341807000}}),
        ("ses_6", 1, "user", {"text": "Where?", "time": {"created": 1795341800000}}),
        ("ses_6", 2, "user", {"text": "Elsewhere?", "time": {"created": 1795341900000}}),
        ("ses_7", 1, "user", {"text": "Look.", "time": {"created": 1795341900000}}),
    ]
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            f"{session} directory TEXT, time_created INTEGER);"
            "CREATE TABLE session_message(id TEXT PRIMARY KEY, session_id TEXT, type TEXT,"
            " seq INTEGER, time_created INTEGER, data TEXT);"
        )
        for own, parent, fork in [
            ("ses_1", None, None),
            ("ses_5", None, None),
            ("ses_6", None, "ses_5"),
            ("ses_7", "ses_5", None),
        ]:
            db.execute("INSERT INTO session_v2 VALUES (?, ?, ?, '/w', 1)", (own, parent, fork))
        for own, seq, kind, data in rows:
            values = (f"{own}_{seq}", own, kind, seq, json.dumps(data))
            db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, 0, ?)", values)
    return path


SAID_2 = {
    "content": [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Here."},
        {"type": "tool", "id": "t", "name": "shell", "state": {"input": {}, "content": "SECRET"}},
    ],
    "time": {"created": 1795341802000},
}


def test_sessions_of_opencode_2_lie_beside_the_former(store, tmp_path):
    """What it brought over, or copied into a fork, is kept once; the last answer may be in making."""
    path = opencode_2(opencode_database(tmp_path / "o"))
    copy_new(store, "opencode", str(path), kept=Kept())
    kept = {x.name: [m.text for m in store.read("opencode", x.name)] for x in store.sessions()}
    assert kept == {
        "ses_1": ["How?", "Slowly.", "And now?"],
        "ses_5": ["Where?", "Here.", "! ls"],
        "ses_6": ["Elsewhere?"],
    }
    found = store.read("opencode", "ses_5")
    assert (found[0].cwd, found[1].tools) == ("/w", ("shell",))


def test_times_of_opencode_2_that_are_none_hide_no_message(tmp_path):
    """What has no time, or a list in place of one, is no copy of another that has none either."""
    path = opencode_2(opencode_database(tmp_path / "o"))
    odd = [({"created": [1]}, "Listed?"), ({}, "Timeless?")]
    with closing(sqlite3.connect(path)) as db, db:
        for own in ("ses_5", "ses_6"):
            for seq, (time, words) in enumerate(odd, 7):
                data = json.dumps({"text": f"{own} {words}", "time": time})
                values = (f"{own}_{seq}", own, "user", seq, data)
                db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, 0, ?)", values)
    texts = [x.text for x in said("opencode", path)["ses_6"]]
    assert texts == ["Elsewhere?", "ses_6 Listed?", "ses_6 Timeless?"]


def test_a_database_of_opencode_2_alone_is_read(tmp_path):
    """One that was never version 1's has none of the former tables."""
    found = said("opencode", opencode_2(tmp_path / "opencode.db"), tools="all", subagents=True)
    assert [x.text for x in found["ses_7"]] == ["Look."]
    assert [x.text for x in found["ses_5"] if x.__class__.__name__ == "Message"][2] == (
        '{"input": {}, "output": "SECRET"}'
    )
    assert unknown("hologram") in found["ses_5"]
