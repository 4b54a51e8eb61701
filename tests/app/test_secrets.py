"""Secrets in every journal: none is written, none is shown, and the writer is told."""

from __future__ import annotations

import json
import time

import pytest
from tests.app.test_app import opened  # noqa: F401  a fixture
from tests.over_mcp import ask
from tests.peak_memory import peak_memory

from commonplace.core.errors import Invalid
from commonplace.doors.doctor.secret_repair import repair_secrets
from commonplace.doors.doctor.secrets import find_secrets
from commonplace.journals.transcripts.message import Message
from commonplace_testing import FrozenClock

SECRET = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
OTHER = "np" + "m_abcdefghijklmnopqrstuvwxyz0123456789"
TEXT = f"The deploy key of the kestrel is {SECRET}, rotate it."
WRITES = {
    "private": ("private", "process_thoughts", {"feelings": TEXT}),
    "chronicle": ("chronicle", "add_entry", {"message": TEXT}),
    "activity": ("chronicle", "remember_this", {"activity": TEXT, "context": "why"}),
    "notebook": ("notebook", "journal_write", {"path": "a/b", "entry": TEXT, "overview": TEXT}),
    "timeline": ("timeline", "timeline_add", {"content": TEXT, "metadata": {"note": TEXT}}),
    "profile": ("timeline", "timeline_profile", {"text": TEXT}),
    "message": ("memory-write", "memory_save", {"kind": "message", "role": "user", "text": TEXT}),
    "journal": ("memory-write", "memory_save", {"kind": "journal", "title": TEXT, "body": TEXT}),
    "todo": ("memory-write", "memory_save", {"kind": "todo", "title": TEXT}),
    "flags": ("memory-write", "memory_save", {"kind": "preference", "flags": {"note": TEXT}}),
}


def holders(folder, secret=SECRET):
    """The files below a folder that hold a secret."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if secret.encode() in path.read_bytes()]


def said(name, text):
    """What a user said in a session."""
    return Message(id=name, role="user", at="2026-11-22T10:00:00.000Z", text=text)


def written_ref(answer):
    """The ref of what was written, whatever the journal calls it."""
    facts = answer.facts
    refs = facts.get("refs") or [facts.get("ref") or facts["entry"]["ref"]]
    return refs[0]


def test_a_secret_reaches_no_file_and_its_writer_is_told(opened, tmp_path, subtests):  # noqa: F811
    """Of no journal, no index and no log; the answer names its kind."""
    app = opened()
    for write, (toolset, name, arguments) in WRITES.items():
        with subtests.test(write=write):
            answer = app.toolset(toolset).tool(name).call(arguments)
            assert holders(tmp_path) == []
            assert "1 secret was replaced: GitHub token." in answer.text
            assert SECRET not in json.dumps(answer.facts)


def test_what_is_private_reaches_no_file(opened, tmp_path, subtests):  # noqa: F811
    """Between its tags, and to the end where there is none."""
    app = opened(secrets_at_write="keep")
    text = f"<private>{SECRET}</private> The kestrel flies. <private>{OTHER}"
    for write, (toolset, name, given) in WRITES.items():
        with subtests.test(write=write):
            arguments = json.loads(json.dumps(given).replace(TEXT, text))
            answer = app.toolset(toolset).tool(name).call(arguments)
            assert holders(tmp_path) + holders(tmp_path, OTHER) == []
            assert "left out." in answer.text


def test_of_a_key_only_a_hash_is_kept(opened, tmp_path, subtests):  # noqa: F811
    """Whatever a client puts into an `idempotency_key`, no file holds it."""
    app = opened()
    for write, (toolset, name, arguments) in WRITES.items():
        tool = app.toolset(toolset).tool(name)
        if "idempotency_key" in tool.schema["properties"]:
            with subtests.test(write=write):
                tool.call({**arguments, "idempotency_key": f"{write} for quokka-19"})
                assert holders(tmp_path, "quokka-19") == []


def test_a_write_with_a_secret_can_be_refused(opened, tmp_path, subtests):  # noqa: F811
    """Then nothing of it is written."""
    app = opened(secrets_at_write="refuse")
    for write, (toolset, name, arguments) in WRITES.items():
        with subtests.test(write=write):
            with pytest.raises(Invalid, match="holds a secret"):
                app.toolset(toolset).tool(name).call(arguments)
            files = (x for x in tmp_path.rglob("*") if x.is_file())
            assert not [x for x in files if b"kestrel" in x.read_bytes()]


def test_what_is_kept_is_not_shown(opened, tmp_path):  # noqa: F811
    """A secret that is kept on purpose, or came by another program, is in no answer."""
    app = opened(secrets_at_write="keep")
    ref = written_ref(app.toolset("chronicle").tool("add_entry").call({"message": TEXT}))
    assert holders(tmp_path)
    calls = [("open_ref", {"ref": ref}), ("recall", {"query": "kestrel"}), ("list_by_time", {})]
    for given in ask(app, ["recall"], *calls):
        assert "kestrel" in given.text
        assert SECRET not in given.whole


def test_a_correction_is_screened(opened, tmp_path):  # noqa: F811
    """In place, and by an entry that takes the place of another."""
    app = opened()
    add = app.toolset("chronicle").tool("add_entry")
    ref = written_ref(add.call({"message": "The kestrel flew."}))
    amend = app.toolset("recall").tool("amend")
    for supersede in (False, True):
        answer = amend.call({"ref": ref, "text": TEXT, "supersede": supersede})
        assert "1 secret was replaced: GitHub token." in answer.text
        assert holders(tmp_path) == []


def test_what_was_said_in_a_session_is_screened(opened, tmp_path):  # noqa: F811
    """A copy is never refused: nobody stands before it."""
    store = opened(secrets_at_write="refuse").transcripts.store
    said = Message(id="1", role="user", at="2026-11-22T10:00:00.000Z", text=TEXT)
    assert store.append("claude-code", "s", [said]) == 1
    assert holders(tmp_path) == []
    (kept,) = store.read("claude-code", "s")
    assert "[secret: GitHub token, " in kept.text


def test_a_secret_of_ones_own_is_screened(opened, tmp_path):  # noqa: F811
    """As the setting names it."""
    app = opened(secrets_own='["Kestrel-Seven"]')
    app.toolset("chronicle").tool("add_entry").call({"message": "It is Kestrel-Seven."})
    assert holders(tmp_path, "Kestrel-Seven") == []


def test_screening_costs_little_of_a_write(opened):  # noqa: F811
    """Less than a tenth of the cheapest write, of 1 KB of prose."""
    app = opened()
    words = "We moved the parser to the new house; the tests of the kestrel are green again. "
    text = (words * 13)[:1000]
    add = app.toolset("chronicle").tool("add_entry")
    add.call({"message": text})
    start = time.process_time()
    for number in range(10):
        add.call({"message": f"{number} {text}"})
    write = (time.process_time() - start) / 10
    start = time.thread_time()
    for _ in range(200):
        app.shared.screen(text)
    assert (time.thread_time() - start) / 200 < write / 10


def test_doctor_finds_what_was_written_before(opened, tmp_path):  # noqa: F811
    """In the journals and in the notebook's history; it names refs and kinds, never a secret."""
    app = opened(secrets_at_write="keep")
    ref = written_ref(app.toolset("chronicle").tool("add_entry").call({"message": TEXT}))
    notebook = {"path": "a/b", "entry": TEXT, "overview": "It flies."}
    app.toolset("notebook").tool("journal_write").call(notebook)
    before = {path: path.read_bytes() for path in holders(tmp_path)}
    report = find_secrets(app)
    assert {path: path.read_bytes() for path in holders(tmp_path)} == before
    said = [f"{part}: {problem.what} {problem.hint}" for part, problem in report.problems]
    assert f"chronicle: {ref} holds GitHub token. --repair replaces it." in " ".join(said)
    assert "1 commits of the history hold secrets (GitHub token)" in " ".join(said)
    assert SECRET not in " ".join(said)


PIECE = 10
"""As many characters of a secret in a row are a part of it, and no word."""

READS = {
    "private": [
        ("recall", "recall", {"query": "kestrel flies", "limit": 50}),
        ("recall", "list_by_time", {"limit": 50}),
        ("private", "search_journal", {"query": "kestrel flies", "limit": 50}),
        ("private", "list_recent_entries", {"limit": 50}),
    ],
    "chronicle": [
        ("recall", "recall", {"query": "kestrel flies", "limit": 50}),
        ("recall", "list_by_time", {"limit": 50}),
        ("chronicle", "search_entries", {"text": "kestrel"}),
    ],
    "notebook": [
        ("recall", "recall", {"query": "kestrel flies", "limit": 50}),
        ("recall", "list_by_time", {"limit": 50}),
        ("notebook", "journal_search", {"work_context": "kestrel flies", "limit": 50}),
    ],
    "timeline": [
        ("recall", "recall", {"query": "kestrel flies", "limit": 50}),
        ("recall", "list_by_time", {"limit": 50}),
        ("timeline", "timeline_search", {"query": "kestrel flies", "limit": 50}),
        ("timeline", "timeline_range", {"start": "today"}),
    ],
    "journal": [
        ("recall", "recall", {"query": "kestrel flies", "limit": 50}),
        ("memory", "memory_search", {"query": "kestrel flies"}),
    ],
}


@pytest.mark.parametrize("write", READS)
def test_no_answer_shows_a_part_of_a_secret(opened, write):  # noqa: F811
    """Wherever a text is cut: it is screened before, since a part of a secret has no shape."""
    app = opened(FrozenClock(), secrets_at_write="keep")
    toolset, name, given = WRITES[write]
    for before in range(20, 240, 27):  # wherever it is cut, some secret is cut in its middle
        text = f"The kestrel flies. {'a b c d e f ' * 20}"[:before] + f" {SECRET}"
        arguments = json.loads(json.dumps(given).replace(TEXT, text + " and on it goes" * 40))
        app.toolset(toolset).tool(name).call(arguments)
    parts = [SECRET[at : at + PIECE] for at in range(len(SECRET) - PIECE)]
    for of, reading, asked in READS[write]:
        (given,) = ask(app, [of], (reading, asked))
        said = given.whole
        assert "kestrel" in said, reading
        assert [part for part in parts if part in said] == [], reading


@pytest.mark.parametrize("place", [800, 5000, 14000])
def test_no_answer_shows_the_middle_of_a_long_key(opened, place):  # noqa: F811
    """It begins farther away than any token is long, and the question leads into it."""
    app = opened(secrets_at_write="keep")
    lines = ["QUJD" * 16] * 300
    lines[place // 65] = "kestrel/" * 8
    edges = [f"-----{side} RSA PRIVATE KEY-----" for side in ("BEGIN", "END")]
    text = "\n".join(["Here it is.", edges[0], *lines, edges[1], "So it is."])
    app.toolset("chronicle").tool("add_entry").call({"message": text})
    for given in ask(app, ["recall"], ("recall", {"query": "kestrel"}), ("list_by_time", {})):
        assert "QUJDQUJD" not in given.whole
        assert "[secret: private key, " in given.text


def test_doctor_reads_a_long_history_in_a_stream(opened):  # noqa: F811
    """Commits larger than what is read at once, and each secret in its own commit."""
    app = opened(secrets_at_write="keep")
    write = app.toolset("notebook").tool("journal_write")
    for number, secret in enumerate(["", SECRET, "", OTHER]):
        text = f"{number} {'The kestrel flies over the oak. ' * 6000}{secret}"
        write.call({"path": f"a/b{number}", "entry": text, "overview": "It flies."})
    with peak_memory() as most:
        report = find_secrets(app)
    said = " ".join(problem.what for _, problem in report.problems)
    assert "2 commits of the history hold secrets" in said
    assert "GitHub token" in said
    assert "npm token" in said
    assert most() < 40_000_000


REPAIRS = ["private", "chronicle", "timeline", "profile", "message", "journal", "todo", "flags"]


@pytest.mark.parametrize("write", REPAIRS)
def test_repair_replaces_what_is_ours_alone(opened, tmp_path, write):  # noqa: F811
    """In journal, summaries and index no byte of it is left, and the words around it stay."""
    app = opened(secrets_at_write="keep")
    toolset, name, arguments = WRITES[write]
    app.toolset(toolset).tool(name).call(arguments)
    app.toolset("recall").tool("recall").call({"query": "deploy key kestrel"})
    assert holders(tmp_path)
    assert any(problem.repairable for _, problem in find_secrets(app).problems)
    repairs = repair_secrets(app)
    assert repairs.failed == []
    assert [said for _, said in repairs.done] == ["Replaced the secrets in 1 entry."]
    assert find_secrets(app).problems == []
    app.close()
    assert holders(tmp_path) == []
    found = opened().toolset("recall").tool("recall").call({"query": "deploy key kestrel"})
    assert write in {"profile", "flags"} or "The deploy key of the kestrel is" in found.text
    assert repair_secrets(opened()).done == []


def test_repair_changes_a_session_by_its_secrets_alone(opened, tmp_path):  # noqa: F811
    """Ids, numbers and times stay, and so does every other message, byte for byte."""
    app = opened(secrets_at_write="keep")
    app.transcripts.store.append("codex", "s1", [said("a", "Hello."), said("b", TEXT)])
    (path,) = (tmp_path).rglob("s1.jsonl")
    before = path.read_bytes().splitlines()
    assert repair_secrets(app).failed == []
    after = path.read_bytes().splitlines()
    assert after[0] == before[0]
    old, new = (json.loads(lines[1]) for lines in (before, after))
    assert SECRET in old.pop("text")
    assert "[secret: GitHub token, " in new.pop("text")
    assert old == new
    app.close()
    assert holders(tmp_path) == []


def test_repair_leaves_a_notebook_to_its_people(opened):  # noqa: F811
    """Its history is not ours alone: what it needs is named, and nothing is changed."""
    app = opened(secrets_at_write="keep")
    app.toolset("notebook").tool("journal_write").call(WRITES["notebook"][2])
    before = app.notebook.journal.repo.head()
    assert repair_secrets(app).done == []
    assert app.notebook.journal.repo.head() == before
    assert not any(problem.repairable for _, problem in find_secrets(app).problems)


def test_repair_goes_on_where_one_entry_cannot_be_changed(
    opened,  # noqa: F811
    tmp_path,
    plain_permissions,
):
    """It is named with the reason, and the others are done; once it can be, the next run does it."""
    app = opened(secrets_at_write="keep")
    for toolset, name, arguments in (WRITES["private"], WRITES["chronicle"]):
        app.toolset(toolset).tool(name).call(arguments)
    (path,) = app.private.journal.roots[0].path.rglob("*.md")
    path.parent.chmod(0o500)
    with plain_permissions():
        repairs = repair_secrets(app)
    path.parent.chmod(0o700)
    assert [part for part, _ in repairs.done] == ["chronicle"]
    ((part, problem),) = repairs.failed
    assert part == "private"
    assert f"/{path.stem}: " in problem.what
    assert [part for part, _ in repair_secrets(app).done] == ["private"]
    app.close()
    assert holders(tmp_path) == []


def test_doctor_names_a_text_of_an_editor_that_holds_a_secret(opened):  # noqa: F811
    """What could not be written lies in a file of ours, as it was typed."""
    app = opened()
    drafts = app.settings.home / "drafts"
    drafts.mkdir(parents=True)
    (drafts / "20261121T231945.md").write_text(f"the key is {SECRET}\n")
    (drafts / "20261121T231946.md").write_text("nothing\n")
    ((part, problem),) = find_secrets(app).problems
    assert part == "drafts"
    assert problem.what == f"{drafts / '20261121T231945.md'} holds GitHub token."
    assert not problem.repairable


def test_doctor_finds_what_git_alone_keeps(opened):  # noqa: F811
    """In what a merge settled, in a stash, and in the message of a tag."""
    app = opened()
    app.toolset("notebook").tool("journal_write").call({"path": "a", "entry": "The kestrel."})
    repo = app.notebook.journal.repo
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")

    def found():
        return [each.what for part, each in find_secrets(app).problems if part == "notebook"]

    repo.git.run([*who, "tag", "-a", "v1", "-m", f"with {SECRET}"])
    assert found() == ["The message of the tag v1 holds GitHub token."]
    repo.git.run(["tag", "-d", "v1"])
    (repo.folder / "a.md").write_text(SECRET, "utf-8")
    repo.git.run([*who, "stash", "--quiet"])
    assert any("1 commits of the history" in each for each in found())


def test_doctor_says_how_an_entry_of_the_notebook_goes(opened):  # noqa: F811
    """An edit would leave it in the history; an overview is edited."""
    app = opened(secrets_at_write="keep")
    write = app.toolset("notebook").tool("journal_write")
    said = write.call({"path": "a", "entry": TEXT, "overview": TEXT}).text
    ref = said.removeprefix("Entry written: ").partition(",")[0]
    hints = {x.what.split()[0]: x.hint for _, x in find_secrets(app).problems}
    assert f"commonplace forget {ref} --rewrite-history" in hints[ref]
    assert "commonplace edit notebook:a" in hints["notebook:a"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add_entry", {"message": "x", "at": SECRET}),
        ("add_entry", {"message": "x", SECRET: "x"}),
        ("open_ref", {"ref": SECRET}),
        ("recall", {"query": "x", "journals": [SECRET]}),
        ("process_thoughts", {"feelings": "x", "supersedes": SECRET}),
    ],
)
def test_no_error_shows_a_secret(opened, name, arguments):  # noqa: F811
    """It repeats what it was given, which clients log and sessions keep."""
    (given,) = ask(opened(), ["default"], (name, arguments))
    assert given.is_error
    assert SECRET not in given.whole
    assert "[secret: GitHub token" in given.text
