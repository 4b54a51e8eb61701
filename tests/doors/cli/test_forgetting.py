"""`commonplace forget`: what holds a text goes, whatever else says it is named, and a proof is shown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.doors.terminal import facts, on_terminal, opened_app, run, write
from tests.journals.chronicle.test_upgrade import make
from tests.journals.transcripts.sessions import said
from tests.patience import PATIENCE_S

from commonplace.app.apps import Apps
from commonplace.config.settings import read_settings
from commonplace.core.errors import Conflict

SECRET = "the blue door behind the bakery opens with four seven one one, Ann said so, ünd so weiter"


def add_private(text):
    return write(text)


def add_log(text):
    return facts("log", text)["ref"]


def add_timeline(text):
    return facts("timeline", "add", text)["ref"]


def add_todo(text):
    return facts("memory", "save", "todo", "--title", text)["ref"]


WRITERS = [add_private, add_log, add_timeline, add_todo]


def holders(text):
    """The files below the home that hold the text."""
    files = [path for path in Path.home().rglob("*") if path.is_file()]
    return [str(path) for path in files if text.encode() in path.read_bytes()]


@pytest.mark.parametrize("add", WRITERS)
@pytest.mark.parametrize("text", [SECRET, "Zwölf Böxkämpfer jagen\n\n* Viktor", "词" * 3000])
def test_no_byte_is_left(no_weights, add, text):
    """Of any text, in any journal, searched for before; what stands beside it stays."""
    text = text if add is not add_todo else " ".join(text.split())[:150]
    other, ref = add("a quiet harbour"), add(text)
    run("recall", "harbour")
    assert holders(text[:20])
    proof = facts("forget", ref, "--yes")
    assert [item["ref"] for item in proof["items"]] == [ref]
    assert proof["clean"]
    assert proof["found"] == []
    assert proof["files"] > 3
    assert holders(text[:20]) == []
    assert run("open", ref).exit_code == 3
    assert run("open", other).exit_code == 0


@pytest.mark.parametrize("add", [add_private, add_log])
@pytest.mark.parametrize("words", ["forget", "delete", "edit"])
def test_the_index_of_another_owner_loses_it(no_weights, monkeypatch, add, words):
    """Owners of one home read the same journals: none keeps what another takes away."""
    ref = add(SECRET)
    with monkeypatch.context() as as_bob:
        as_bob.setenv("COMMONPLACE_OWNER", "bob")
        assert facts("recall", "bakery")["items"][0]["ref"] == ref
    assert any("/bob/" in path for path in holders(SECRET))
    more = ["It is gone.", "--no-undo"] if words == "edit" else ["--yes"]
    assert run(words, ref, *more).exit_code == 0
    assert holders(SECRET) == []


def test_another_owner_keeps_the_same_session(no_weights, monkeypatch, tmp_path):
    """Sessions are each owner's own: who takes back an import of one takes none of another's."""
    words = {"uuid": "m1", "sender": "human", "text": "the harbour at dawn"}
    chat = {"uuid": "c1", "chat_messages": [{**words, "created_at": "2026-03-01T09:00:00Z"}]}
    session = tmp_path / "conversations.json"
    session.write_text(json.dumps([chat]))
    for owner in ("ann", "bob"):
        monkeypatch.setenv("COMMONPLACE_OWNER", owner)
        assert run("import", "claude-ai", session).exit_code == 0
        assert len(facts("recall", "harbour")["items"]) == 1
        assert run("brief").exit_code == 0
    assert run("undo", "--yes").exit_code == 0
    assert facts("recall", "harbour")["items"] == []
    monkeypatch.setenv("COMMONPLACE_OWNER", "ann")
    assert len(facts("recall", "harbour")["items"]) == 1


@pytest.mark.parametrize("add", [add_private, add_log])
@pytest.mark.parametrize("words", ["forget", "delete", "edit"])
def test_what_another_owner_replaced_goes_with_the_entry(no_weights, monkeypatch, add, words):
    """A former text lies with the owner who edited, who need not be the one who deletes."""
    ref = add(SECRET)
    with monkeypatch.context() as as_bob:
        as_bob.setenv("COMMONPLACE_OWNER", "bob")
        own = add_timeline(SECRET.upper())
        assert run("edit", own, "It is bob's.").exit_code == 0
        assert run("edit", ref, "a quiet harbour, of which nothing else is told").exit_code == 0
    assert any("/bob/former/" in path for path in holders(SECRET))
    more = ["It is gone.", "--no-undo"] if words == "edit" else ["--yes"]
    assert run(words, ref, *more).exit_code == 0
    assert holders(SECRET) == []
    assert any("/bob/former/" in path for path in holders(own))


@pytest.mark.parametrize("add", [add_private, add_log])
def test_words_that_only_another_owner_replaced_are_found(no_weights, monkeypatch, add):
    """Those of a shared journal go, those of the other's own are named, of a served one ignored."""
    kept, ref = add(f"{SECRET}; and more"), add(SECRET)
    with monkeypatch.context() as as_bob:
        as_bob.setenv("COMMONPLACE_OWNER", "bob")
        own = add_timeline(SECRET)
        for each in (kept, own):
            assert run("edit", each, "a quiet harbour, and nothing else").exit_code == 0
    users = Path.home() / ".local/share/commonplace/users"
    shutil.copytree(users / "bob/former", users / "served/former")
    (users / "served/served").mkdir()
    proof = facts("forget", ref, "--yes", code=1)
    *served, left = sorted(map(Path, holders(SECRET)), key=lambda path: path.match("bob/former/*"))
    assert [path.parent for path in served] == [users / "served/former"] * 2
    assert json.loads(left.read_bytes())["ref"] == own
    assert [each["place"] for each in proof["found"]] == [str(left)]


@pytest.mark.parametrize("tokens", ["0", "400"])
@pytest.mark.parametrize("words", ["forget", "delete"])
def test_the_brief_of_another_owner_loses_it(monkeypatch, words, tokens):
    """Also where who deletes is told nothing; what else says the words there is in the proof."""
    kept, ref = add_log(f"{SECRET}; and more"), add_log(SECRET)
    with monkeypatch.context() as as_bob:
        as_bob.setenv("COMMONPLACE_OWNER", "bob")
        assert run("brief").exit_code == 0
    briefs = [path for path in map(Path, holders(ref)) if path.match("bob/brief/*")]
    assert len(briefs) == 1
    monkeypatch.setenv("COMMONPLACE_BRIEF_TOKENS", tokens)
    proof = facts(words, ref, "--yes")
    assert [path for path in map(Path, holders(ref)) if path.match("bob/brief/*")] == []
    if words == "forget":
        said = [each["refs"] for each in proof["found"] if each["place"] == str(briefs[0])]
        assert said == [[kept]]


@pytest.mark.parametrize("add", [add_private, add_log])
def test_what_the_machine_s_owner_deletes_over_http_leaves_other_owners(
    no_weights, monkeypatch, add
):
    """That owner's journals are the machine's also there: index, brief and former texts lose it."""
    ref = add(SECRET)
    with monkeypatch.context() as as_bob:
        as_bob.setenv("COMMONPLACE_OWNER", "bob")
        assert run("edit", ref, f"{SECRET}; or so").exit_code == 0
        facts("recall", "bakery")
        assert run("brief").exit_code == 0
    words = SECRET[:40]  # as every file writes them: JSON may escape others
    held = {Path(path).parent.name for path in holders(words) if "/bob/" in path}
    assert held >= ({"index", "former"} if add is add_private else {"index", "former", "brief"})
    apps = Apps(
        read_settings(environ=os.environ, cwd=Path.cwd(), home=Path.home()), user_home=Path.home()
    )
    with apps.using("me") as app:
        app.toolset("recall").tool("amend").call({"ref": ref, "delete": True})
    apps.close()
    assert holders(words) == []


@pytest.mark.parametrize("shares", [True, False])
def test_an_overview_takes_the_former_texts_of_a_notebook_that_is_shared(monkeypatch, shares):
    """Where each owner has a notebook, a section of the same name is another one."""
    if shares:
        monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(Path.home() / "notes"))
        assert run("notebook", "init").exit_code == 0
    else:
        facts("notebook", "write", "boats", "Ours.", "--overview", "They sail.")
    with monkeypatch.context() as as_bob:
        as_bob.setenv("COMMONPLACE_OWNER", "bob")
        facts("notebook", "write", "boats", "They float.", "--overview", SECRET)
        assert run("edit", "notebook:boats", "Boats sink.").exit_code == 0
    assert run("delete", "notebook:boats", "--yes").exit_code == 0
    assert any("/bob/former/" in path for path in holders(SECRET)) is not shares


def kept_files():
    """What each file below the home holds, but for the index, which is made from the others."""
    files = (path for path in Path.home().rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.parent.name != "index"}


def test_a_dry_run_changes_nothing(no_weights):
    """It has the refs that would go, and no word of theirs."""
    ref = write(SECRET)
    before = kept_files()
    shown = run("forget", ref, "--dry-run")
    assert f"Would forget {ref}." in shown.stdout
    assert SECRET not in shown.stdout
    assert facts("forget", ref, "--dry-run")["dry_run"]
    assert kept_files() == before


def test_it_asks(no_weights):
    """As every deletion does: without a terminal it refuses."""
    ref = write(SECRET)
    assert "Refusing to delete without confirmation" in run("forget", ref).stderr
    assert run("open", ref).exit_code == 0


def test_who_says_the_same_is_named_and_stays(no_weights):
    """Another journal's entry has the same 12 words; the place that holds them is explained by it."""
    ref, other = write(SECRET), add_log(f"wrote down that {SECRET}")
    planned = facts("forget", ref, "--dry-run")
    assert planned["same_words"] == [other]
    proof = facts("forget", ref, "--yes")
    assert proof["clean"]
    assert {each for found in proof["found"] for each in found["refs"]} == {other}
    assert any("chronicle.db" in found["place"] for found in proof["found"])
    assert run("open", other).exit_code == 0
    assert facts("forget", other, "--yes")["found"] == []
    assert holders(SECRET) == []


@pytest.mark.parametrize("is_filed", [False, True])
def test_what_was_said_in_the_same_words_goes(no_weights, is_filed):
    """A message of a session that quotes it is listed, and deleted; the next one stays.

    Whether the index knows of it or not: what was not filed is read.
    """
    app = opened_app()
    messages = [said(1, f"Note: {SECRET}"), said(2, "The lock is stale.")]
    app.transcripts.store.append("claude-code", "5e0c-1", messages)
    if is_filed:
        app.filing.sweep()
    app.close()
    ref = write(SECRET)
    quoting = facts("forget", ref, "--dry-run")["items"][1]
    assert quoting["because"] == ref
    assert quoting["journal"] == "transcripts"
    assert facts("forget", ref, "--yes")["clean"]
    assert holders(SECRET) == []
    assert len(facts("transcripts", "search", "stale")["items"]) == 1


def test_a_draft_goes(no_weights):
    """A text of the editor that could not be written holds it."""
    ref = write(SECRET)
    draft = Path(opened_home()) / "drafts" / "a.md"
    draft.parent.mkdir(parents=True)
    draft.write_text(f"{SECRET}\n", "utf-8")
    copies = facts("forget", ref, "--yes")["copies"]
    assert copies == [{"what": "the draft", "path": str(draft), "left": ""}]
    assert not draft.exists()


def test_a_summary_is_made_again_without_it(no_weights):
    """One that quotes it is named, and says no word of it afterwards."""
    ref = facts("timeline", "add", SECRET, "--at", "2026-03-02 09:30")["ref"]
    run("timeline", "add", "a quiet harbour", "--at", "2026-03-02 09:40")
    run("rollup", "--due")
    assert facts("forget", ref, "--dry-run")["made_again"]
    assert facts("forget", ref, "--yes")["clean"]
    run("rollup", "--due")
    assert holders(SECRET) == []


def test_the_history_of_the_notebook_is_named(no_weights):
    """An entry is refused; a private note of the same words goes, and the commit explains the rest."""
    commit = facts("notebook", "write", "door", SECRET)["ref"]
    done = run("forget", commit, "--yes")
    assert done.exit_code == 1
    assert "its history is not rewritten" in done.stderr
    proof = facts("forget", write(SECRET), "--yes")
    assert proof["same_words"] == [commit]
    assert proof["objects"] > 0
    assert proof["clean"]


def test_an_empty_folder_in_place_of_the_notebook_holds_nothing(no_weights):
    """A process that was killed before git's first file left it: other entries are forgotten."""
    app = opened_app()
    app.notebook.repository.folder.mkdir(parents=True)
    app.close()
    add_log("the harbour is a thistledown")
    assert run("forget", "-1", "--yes").exit_code == 0
    assert not holders("thistledown")


def test_what_is_left_is_found(no_weights):
    """A copy that no entry explains, in a file of ours: it is named, and the command ends with 1."""
    ref = write(SECRET)
    stray = Path(opened_home()) / "stray.json"
    stray.write_text(json.dumps({"copy": SECRET}), "utf-8")
    proof = facts("forget", ref, "--yes", code=1)
    assert proof["found"] == [{"place": str(stray), "refs": []}]
    assert not proof["clean"]


def test_an_entry_explains_nothing_in_another_journals_files(no_weights):
    """A copy of the log still holds it: that a private entry says the same is no reason."""
    ref, other = add_log(SECRET), write(f"I was told that {SECRET}")
    copy = Path(opened_log()).with_name("chronicle.db.before")
    copy.write_text(SECRET, "utf-8")
    found = {each["place"]: each["refs"] for each in facts("forget", ref, "--yes", code=1)["found"]}
    assert found.pop(str(copy)) == []
    assert {each for refs in found.values() for each in refs} == {other}


def test_the_copy_of_an_upgrade_loses_it(no_weights):
    """What an upgrade left beside the database is ours alone; the other entries stay in it."""
    path = Path(opened_log())
    path.parent.mkdir(parents=True)
    make("A", path)
    assert run("chronicle", "upgrade").exit_code == 0
    (copy,) = path.parent.glob("*.backup-*")
    item = max(
        facts("chronicle", "list", "--limit", "50")["items"], key=lambda each: len(each["text"])
    )
    planned = facts("forget", item["ref"], "--dry-run")["copies"]
    assert [each["path"] for each in planned] == [str(copy)]
    assert facts("forget", item["ref"], "--yes")["clean"]
    assert item["text"].split("\n")[0].encode() not in copy.read_bytes()


def test_the_copy_of_an_upgrade_keeps_what_changed_since_the_plan(no_weights):
    """Another program edited the entry: forgetting it is refused, and no row of it goes."""
    path = Path(opened_log())
    path.parent.mkdir(parents=True)
    make("A", path)
    assert run("chronicle", "upgrade").exit_code == 0
    (copy,) = path.parent.glob("*.backup-*")
    before = copy.read_bytes()
    ref = facts("chronicle", "list", "--limit", "1")["items"][0]["ref"]
    app = opened_app()
    try:
        service = app.forgetting()
        plan = service.plan([ref])
        app.chronicle.journal.edit_event(ref, message="a quiet harbour")
        with pytest.raises(Conflict, match="has changed since it was read"):
            service.carry_out(plan)
    finally:
        app.close()
    assert copy.read_bytes() == before


@pytest.mark.parametrize("words", [("delete", "--yes"), ("edit", "a quiet harbour", "--yes")])
def test_the_copy_of_an_upgrade_loses_what_is_deleted_or_edited(no_weights, words):
    """By either verb, and of that entry alone."""
    path = Path(opened_log())
    path.parent.mkdir(parents=True)
    make("A", path)
    assert run("chronicle", "upgrade").exit_code == 0
    (copy,) = path.parent.glob("*.backup-*")
    item, other, *_ = sorted(
        facts("chronicle", "list", "--limit", "50")["items"], key=lambda each: -len(each["text"])
    )
    verb, *more = words
    assert run(verb, item["ref"], *more).exit_code == 0
    assert item["text"].split("\n")[0].encode() not in copy.read_bytes()
    assert other["text"].split("\n")[0].encode() in copy.read_bytes()


def test_a_process_that_dies_is_followed_by_the_next(no_weights):
    """Killed between two journals: what it noted has no word of the text, and is finished."""
    log, note = add_log(SECRET), write(f"{SECRET}.")
    died = subprocess.run(
        [sys.executable, "-c", DYING, log, note], env=os.environ, timeout=PATIENCE_S, check=False
    )
    assert died.returncode == 9
    (pending,) = Path(opened_home()).rglob("pending.json")
    assert note in pending.read_text("utf-8")
    assert "bakery" not in pending.read_text("utf-8")
    assert "An earlier forgetting of 2 entries was finished." in run("forget").stdout
    assert not pending.exists()
    assert holders(SECRET) == []


DYING = """
import os, sys
from pathlib import Path
from msgspec.structs import replace
from commonplace.app import App
from commonplace.config.settings import read_settings

app = App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())
service = app.forgetting()
plan = service.plan(sys.argv[1:])
amenders = {**service.amend.amenders, "private": lambda: os._exit(9)}
replace(service, amend=replace(service.amend, amenders=amenders)).carry_out(plan)
"""


def test_an_app_that_is_open_meanwhile_keeps_nothing(no_weights):
    """A server that has searched for it has the index open while another process forgets."""
    ref = add_log(SECRET)
    app = opened_app()
    try:
        assert app.recall.tools.recall(query="bakery").facts["count"] >= 1
        assert facts("forget", ref, "--yes")["clean"]
        assert holders(SECRET) == []
    finally:
        app.close()
    assert holders(SECRET) == []


def test_two_processes_forget_beside_each_other(no_weights):
    """Neither takes what the other is about for what a killed one left."""
    texts = [f"{SECRET} {number}" for number in range(6)]
    refs = [add_log(text) for text in texts]
    command = [sys.executable, "-m", "commonplace", "forget", "--yes"]
    both = [
        subprocess.Popen([*command, *part], stdout=subprocess.PIPE, text=True)
        for part in (refs[:3], refs[3:])
    ]
    for process in both:
        assert "An earlier forgetting" not in process.communicate(timeout=PATIENCE_S)[0]
    assert facts("list")["items"] == []
    assert holders(SECRET) == []


def test_a_query_takes_what_contains_all_its_words(no_weights):
    """Whole words in any order and case, in any journal; what is about the same stays."""
    refs = {add_log("the Door of the bakery"), add_timeline("Bakery: a blue door")}
    write("doors and bakeries"), add_log("the door of the house")
    planned = facts("forget", "--query", "bakery door", "--dry-run")
    assert {item["ref"] for item in planned["items"]} == refs
    done = facts("forget", "--query", "bakery door", "--yes")
    assert done["clean"]
    assert {item["ref"] for item in done["items"]} == refs
    assert len(facts("list")["items"]) == 2


def test_a_time_takes_what_is_of_it(no_weights):
    """From its beginning to its end, as everywhere; what was once typed keeps to both."""
    days = [f"2026-03-0{day}" for day in (1, 2, 3)]
    refs = [facts("log", "the blue door", "--at", day)["ref"] for day in days]

    def taken(*words):
        return [item["ref"] for item in facts("forget", *words, "--dry-run")["items"]]

    assert taken("--when", "2026-03-02") == refs[1:2]
    assert taken("--when", "since 2026-03-02") == refs[1:]
    assert taken("--when", "until now") == refs
    assert taken("--when", "since 2026-03-02", "--before", "2026-03-03") == refs[1:2]
    assert "Invalid when: unknown" in run("forget", "--when", "nowish", "--yes").stderr


def test_a_time_takes_what_was_before_it(no_weights):
    """The beginning of the phrase's time is the end; with a journal, of that one alone."""
    old = facts("timeline", "add", SECRET, "--at", "2026-02-28 23:59")["ref"]
    new = facts("timeline", "add", "a quiet harbour", "--at", "2026-03-01 00:00")["ref"]
    before = ["forget", "--before", "2026-03"]
    assert [item["ref"] for item in facts(*before, "--dry-run")["items"]] == [old]
    assert run(*before, "-j", "chronicle", "--dry-run").exit_code == 3
    assert facts(*before, "-j", "timeline", "--yes")["clean"]
    assert holders(SECRET) == []
    assert run("open", new).exit_code == 0


def test_a_project_takes_what_was_written_in_it(no_weights, tmp_path, monkeypatch):
    """Below it too, and in no folder whose name begins alike; filters are joined."""
    refs = []
    for folder in ("house", "house/cellar", "household"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        refs.append(add_log(f"{SECRET} in {folder}"))
    house = str(tmp_path / "house")
    asked = ["forget", "--project", house]
    assert [x["ref"] for x in facts(*asked, "--dry-run")["items"]] == refs[:2]
    assert [x["ref"] for x in facts(*asked, "--query", "cellar", "--yes")["items"]] == refs[1:2]
    assert run("open", refs[1]).exit_code == 3
    assert run("open", refs[0]).exit_code == 0


def test_what_filters_took_is_numbered(no_weights):
    """Oldest first; the numbers are those of the last list, so one of them can be named."""
    add_log("the blue door"), add_log("the red door")
    shown = run("forget", "--query", "door", "--dry-run").stdout
    assert "the blue door" in shown.splitlines()[0]
    assert shown.splitlines()[1].startswith("2. ")
    assert facts("forget", "2", "--yes")["clean"]
    assert [item["text"] for item in facts("list")["items"]] == ["the blue door"]


def test_what_filters_took_is_shown_as_it_was_written(no_weights):
    """Without the work context, which searches alone have behind the text of a notebook's entry."""
    facts("notebook", "write", "house", "the blue door", "-c", "at night")
    shown = run("forget", "--query", "door", "--dry-run").stdout
    assert shown.splitlines()[0].endswith(": the blue door")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--query", "nobody wrote this"], 3, "No entry fits --query 'nobody wrote this'."),
        (["--query", "  "], 2, "Invalid query: it is blank."),
        (["--query", "…"], 2, "has no word"),
        (["--before", "nowish"], 2, "Invalid before: unknown time phrase: 'nowish'."),
        (["--journal", "chronicle"], 2, "--journal alone would take everything"),
        (["--query", "door", "--journal", "cronicle"], 2, "Did you mean chronicle?"),
        (["-1", "--query", "door"], 2, "Refs and --query cannot be combined."),
    ],
)
def test_a_filter_that_takes_nothing_says_so(no_weights, words, code, said):
    """It names what was given, and nothing goes."""
    ref = add_log("the blue door")
    done = run("forget", *words, "--yes")
    assert done.exit_code == code
    assert said in done.stderr
    assert run("open", ref).exit_code == 0


def test_nothing_named_is_an_error(no_weights):
    """With the next step; and a ref that is not there changes nothing."""
    done = run("forget")
    assert done.exit_code == 2
    ref = write(SECRET)
    assert run("forget", ref, "chronicle:nothing", "--yes").exit_code == 3
    assert run("open", ref).exit_code == 0
    if os.name != "nt":
        assert on_terminal("forget", ref, typed="n\n")[0] == 1


def opened_home():
    """Our folder, as a command here and now would take it."""
    app = opened_app()
    app.close()
    return app.settings.home


def opened_log():
    """Chronicle's database, as a command here and now would take it."""
    app = opened_app()
    path = app.chronicle.journal.path
    app.close()
    return path
