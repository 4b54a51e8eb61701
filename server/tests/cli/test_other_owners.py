"""`forget --owner`, and a machine's owner who bears a user's name."""

import json
import shutil

import pytest
from server.tests.two_homes import ask, settings_in
from tests.doors.terminal import run

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.chronicle import Chronicle
from commonplace.core.errors import NotFound
from commonplace_testing import HashingEncoder, ReadySlot

SECRET = "The cobalt numbat counts eleven umbrellas behind the bakery at dawn."


@pytest.fixture
def env(database, tmp_path):
    return {
        "COMMONPLACE_HOME": str(tmp_path / "data"),
        "COMMONPLACE_ENCODER_FOLDER": str(tmp_path / "nothing"),
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_TOOLSETS": "all",
    }


@pytest.fixture
def served(database, tmp_path):
    """Opens the app of an owner as the server of the same home does."""
    settings = settings_in(tmp_path / "data", **{"database.url": database.app_url})
    slot = ReadySlot(HashingEncoder())
    shared = ProcessContext(settings, encoder=slot, serves_owners=True)
    apps = Apps(settings, user_home=None, shared=shared)
    yield apps.using
    apps.close()
    shared.close()


def write_everywhere(app, text):
    """An entry in each journal; their refs."""
    answers = [
        ask(app, "process_thoughts", feelings=text),
        ask(app, "add_entry", message=text),
        ask(app, "journal_write", path="birds", entry=text, overview="On birds."),
        ask(app, "timeline_add", content=text),
        ask(app, "memory_save", kind="gratitude", text=text),
    ]
    ask(app, "recall", query=text)  # which files it
    return [ref for answer in answers for ref in answer.written]


def holders(database, text):
    """The tables that hold a text, each with whose it is."""
    owned = "SELECT table_name FROM information_schema.columns WHERE column_name = 'user_id'"
    return {
        (table, owner)
        for (table,) in database.rows(f"{owned} AND table_schema = 'public'")
        for (owner,) in database.rows(
            f"SELECT user_id FROM {table} AS each WHERE each::text ILIKE %s", f"%{text}%"
        )
    }


@pytest.mark.parametrize("owner", ["ann", "space:team"])
def test_forget_owner_takes_a_users_entries_out_of_every_journal(env, served, database, owner):
    """Also of a space, with the proof that the own one has; another user keeps the same words."""
    with served(owner) as app:
        refs = write_everywhere(app, SECRET)
    with served("bob") as app:
        ask(app, "timeline_add", content=SECRET)
    assert len(refs) == 5
    assert ("wb_docs", owner) in holders(database, "numbat")
    assert run("forget", refs[0], "--yes", env=env).exit_code == 3
    plan = json.loads(run("forget", *refs, "--owner", owner, "--dry-run", "--json", env=env).stdout)
    assert [each["ref"] for each in plan["items"]] == refs
    done = run("forget", *refs, "--owner", owner, "--yes", "--json", env=env)
    assert done.exit_code == 0, done.output
    proof = json.loads(done.stdout)
    assert (proof["clean"], proof["found"], proof["not_read"]) == (True, [], [])
    assert proof["files"] > 0
    assert holders(database, "numbat") == {("cp_entries", "bob")}


def test_forget_owner_takes_what_filters_choose(env, served):
    """By words and journal; without an entry of that owner's it says so."""
    with served("ann") as app:
        refs = write_everywhere(app, SECRET)
    with served("bob") as app:
        ask(app, "timeline_add", content="Nothing of that.")
    chosen = ["forget", "--query", "numbat", "-j", "chronicle", "--yes", "--json", "--owner"]
    nothing = run(*chosen, "bob", env=env)
    assert nothing.exit_code == 3
    assert "export --owner" in nothing.output  # `list` shows none of bob's
    done = json.loads(run(*chosen, "ann", env=env).stdout)
    assert [each["ref"] for each in done["items"]] == [x for x in refs if x.startswith("chronicle")]


def test_a_mistyped_owner_is_refused_where_a_database_has_the_others(env, served, tmp_path):
    """And leaves nothing; who has something there alone, and no folder here, is opened."""
    with served("ann") as app:
        ask(app, "timeline_add", content=SECRET)
    users = tmp_path / "data" / "users"
    shutil.rmtree(users / "ann")
    for words in (["export", "out"], ["forget", "--query", "numbat"], ["memory", "list"]):
        refused = run(*words, "--owner", "anne", env=env)
        assert refused.exit_code == 3
        assert "Nothing is kept of the owner 'anne'." in refused.stderr
    with served("bob") as app, pytest.raises(NotFound, match="Nothing is kept of 'anne'"):
        app.memory.store_of("anne")  # as the page of memory does
    shutil.rmtree(users / "bob", ignore_errors=True)
    assert list(users.iterdir()) == []
    assert run("export", tmp_path / "out", "--owner", "ann", env=env).exit_code == 0


def test_a_served_users_name_opens_nothing_for_the_machines_owner(env, served):
    """What stands under it would be two people's; a name that nobody is served by is free."""
    with served("ann") as app:
        ask(app, "timeline_add", content=SECRET)
    for words in (["list"], ["timeline", "add", "mine"], ["serve"], ["mcp"]):
        refused = run(*words, env={**env, "COMMONPLACE_OWNER": "ann"})
        assert refused.exit_code == 1
        assert "'ann' (environment COMMONPLACE_OWNER) is a user who is served" in refused.stderr
        assert "another name" in refused.stderr
    assert run("list", env={**env, "COMMONPLACE_OWNER": "grace"}).exit_code == 0
    assert run("export", "--owner", "grace", "out", env=env).exit_code == 0
    assert run("list", env={**env, "COMMONPLACE_OWNER": "grace"}).exit_code == 0


def test_a_program_in_a_home_leaves_its_owner_the_command_line(env, tmp_path):
    """Who keeps all in one folder by the library is the machine's owner there all the same."""
    slot = ReadySlot(HashingEncoder())
    with Chronicle("me", home=tmp_path / "data", encoder=slot) as chronicle:
        chronicle.save_entry("Rang the bell.")
        with chronicle.beside("ann") as of_ann:
            of_ann.save_entry("Rang it too.")
    assert run("list", env=env).exit_code == 0
    assert run("list", env={**env, "COMMONPLACE_OWNER": "ann"}).exit_code == 1


def test_a_space_is_no_machines_owner(env):
    """Who writes there is a member, and is named."""
    refused = run("log", "mine", env={**env, "COMMONPLACE_OWNER": "space:team"})
    assert refused.exit_code == 2
    assert "is the name of a space, and of no user" in refused.stderr
