"""`commonplace memory` where a database keeps all memories: migrate, save, work, search, as each user."""

import json
import signal
import subprocess
import sys

import pytest
from tests.doors.terminal import run
from tests.patience import PATIENCE_S


@pytest.fixture
def env(empty_database, tmp_path):
    return {
        "COMMONPLACE_HOME": str(tmp_path / "data"),
        "COMMONPLACE_ENCODER_FOLDER": str(tmp_path / "nothing"),
        "COMMONPLACE_DATABASE_URL": empty_database.app_url,
        "COMMONPLACE_DATABASE_WORKER_URL": empty_database.worker_url,
        "COMMONPLACE_DATABASE_ADMIN_URL": empty_database.admin_url,
    }


def memory(env, *words):
    return run("memory", *words, "--json", env=env)


def test_from_an_empty_database_to_a_hit(env):
    """Before the tables are made it says how; then each user finds what is theirs."""
    early = memory(env, "save", "todo", "--title", "buy cables", "--user", "ann")
    assert early.exit_code == 1
    assert "commonplace memory migrate" in early.stderr
    made = memory(env, "migrate")
    assert json.loads(made.stdout)["applied"][0] == "records 0001 records"
    assert json.loads(memory(env, "migrate").stdout)["applied"] == []
    saved = json.loads(memory(env, "save", "todo", "--title", "buy cables", "--user", "ann").stdout)
    memory(env, "save", "todo", "--title", "sell cables", "--user", "bob")
    found = json.loads(memory(env, "search", "cables", "--user", "ann").stdout)
    assert [hit["ref"] for hit in found["items"]] == [saved["ref"]]
    worked = memory(env, "worker", "--once")
    assert json.loads(worked.stdout)["filed"] == 1
    assert worked.stderr.startswith("Words alone are filed: ")
    assert "run `commonplace model fetch`" in worked.stderr
    stats = json.loads(memory(env, "stats", "--user", "bob").stdout)
    assert (stats["found"], stats["pending"]) == (1, 1)
    assert memory(env, "delete", "todo", saved["ref"], "--user", "ann", "--yes").exit_code == 0
    assert json.loads(memory(env, "worker", "--once").stdout)["filed"] == 1
    assert memory(env, "delete", "todo", saved["ref"], "--user", "bob", "--yes").exit_code == 3


def test_a_check_says_what_would_be_applied_and_changes_nothing(env, empty_database):
    """1 while anything would be, as a deployment asks; what a newer program made is refused by name."""
    asked = memory(env, "migrate", "--check")
    assert asked.exit_code == 1
    assert empty_database.rows("SELECT to_regclass('applied_migrations')") == [(None,)]
    pending = json.loads(asked.stdout)["pending"]
    assert pending[0] == "records 0001 records"
    assert json.loads(memory(env, "migrate").stdout)["applied"] == pending
    whole = memory(env, "migrate", "--check")
    assert (whole.exit_code, json.loads(whole.stdout)["pending"]) == (0, [])
    empty_database.run("DELETE FROM applied_migrations WHERE series = 'records' AND number > 9")
    assert json.loads(memory(env, "migrate", "--check").stdout)["pending"][0].startswith(
        "records 0010"
    )
    empty_database.run(
        "INSERT INTO applied_migrations (series, number, name) VALUES ('records', 99, 'x')"
    )
    for words in (["--check"], []):
        refused = memory(env, "migrate", *words)
        assert refused.exit_code == 1
        assert "schema 99 of records" in refused.stderr
        assert "newer commonplace" in refused.stderr


def test_wrong_roles_are_refused(env):
    """The owner as the application, the application as the worker, nobody as the owner."""
    memory(env, "migrate")
    owner = memory(
        {**env, "COMMONPLACE_DATABASE_URL": env["COMMONPLACE_DATABASE_ADMIN_URL"]}, "list", "todo"
    )
    assert (owner.exit_code, "superuser" in owner.stderr) == (1, True)
    worker = memory(
        {**env, "COMMONPLACE_DATABASE_WORKER_URL": env["COMMONPLACE_DATABASE_URL"]},
        "worker",
        "--once",
    )
    assert (worker.exit_code, "commonplace_worker" in worker.stderr) == (1, True)
    owner = memory(
        {**env, "COMMONPLACE_DATABASE_WORKER_URL": env["COMMONPLACE_DATABASE_ADMIN_URL"]},
        "worker",
        "--once",
    )
    assert (owner.exit_code, "commonplace_worker" in owner.stderr) == (1, True)
    missing = memory({**env, "COMMONPLACE_DATABASE_ADMIN_URL": ""}, "migrate")
    assert (missing.exit_code, "COMMONPLACE_DATABASE_ADMIN_URL" in missing.stderr) == (2, True)
    missing = memory({**env, "COMMONPLACE_DATABASE_WORKER_URL": ""}, "worker", "--once")
    assert (missing.exit_code, "COMMONPLACE_DATABASE_WORKER_URL" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mysql://ann:hunter2@h/x", "mysql://ann@h/x"),
        ("postgresql://ann:hun/ter2@h/x", "postgresql://ann@h/x"),
        ("host=h password='hunter2' x", "host=h password=…"),
        ("Server=h;Uid=ann;Pwd=hunter2;", "Server=h;Uid=ann;Pwd=…"),
    ],
)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("url", ["memory", "list", "todo"]),
        ("url", ["tokens", "list"]),
        ("url", ["serve"]),
        ("url", ["doctor"]),
        ("worker_url", ["memory", "worker", "--once"]),
        ("worker_url", ["doctor"]),
        ("admin_url", ["memory", "migrate"]),
        ("admin_url", ["memory", "migrate", "--check"]),
    ],
)
def test_an_address_that_cannot_be_used_is_named_where_it_was_set(
    tmp_path, name, words, address, shown
):
    """The setting, its variable, and the value without its password."""
    variable = f"COMMONPLACE_DATABASE_{name.upper()}"
    done = run(*words, env={"COMMONPLACE_HOME": str(tmp_path), variable: address})
    said = done.stdout + done.stderr
    assert done.exit_code != 0
    assert f"setting database.{name} from environment {variable} is '{shown}'" in said
    assert "ter2" not in said


def findings(env):
    done = run("doctor", "--json", env=env)
    facts = json.loads(done.stdout)
    return (
        [each["what"] for each in facts["problems"] if each["where"] == "memory"],
        [each["what"] for each in facts["notes"] if each["where"] == "memory"],
    )


def test_doctor_looks_at_the_database(env, database):
    """Tables that are not there, a wrong role, records that nobody works on; and what is well."""
    (missing, *_), _ = findings(env)
    assert "has no tables of memory" in missing
    env |= {
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_DATABASE_WORKER_URL": database.worker_url,
    }
    memory(env, "save", "todo", "--title", "cables", "--user", "ann")
    problems, notes = findings(env)
    assert problems == []
    assert notes[0].endswith("answers.")
    assert "1 records wait for the worker." in notes
    database.run("UPDATE wb_outbox SET at = now() - interval '1 hour'")
    assert findings(env)[0] == ["1 records wait for the worker, for 60 minutes."]
    assert "superuser" in findings({**env, "COMMONPLACE_DATABASE_URL": database.admin_url})[0][0]


def test_the_index_is_made_anew_from_the_records(env, database):
    """Whatever is lost of it; what was deleted does not come back."""
    env |= {
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_DATABASE_WORKER_URL": database.worker_url,
    }
    for user in ("ann", "bob"):
        memory(env, "save", "todo", "--title", f"cables of {user}", "--user", user)
    lost = json.loads(memory(env, "save", "todo", "--title", "old cables", "--user", "ann").stdout)
    memory(env, "worker", "--once")
    memory(env, "delete", "todo", lost["ref"], "--user", "ann", "--yes")
    database.run("TRUNCATE wb_index, wb_docs, wb_dropped, wb_facets, wb_words, wb_models")
    found = json.loads(memory(env, "search", "cables", "--user", "ann").stdout)
    assert found["items"] == []
    assert json.loads(memory(env, "worker", "--once", "--rebuild").stdout)["filed"] == 3
    for user in ("ann", "bob"):
        found = json.loads(memory(env, "search", "cables", "--user", user).stdout)
        assert [hit["text"] for hit in found["items"]] == [f"cables of {user}"]


def test_a_worker_runs_until_it_is_told_to_end(env, database, monkeypatch):
    """What is saved meanwhile it files; at a SIGTERM it comes to its end."""
    mine = {
        **env,
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_DATABASE_WORKER_URL": database.worker_url,
    }
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    working = subprocess.Popen([sys.executable, "-m", "commonplace", "memory", "worker"])
    memory(mine, "save", "todo", "--title", "buy cables", "--user", "ann")
    while not database.rows("SELECT 1 FROM wb_words WHERE user_id = 'ann'"):
        assert working.poll() is None
    working.send_signal(signal.SIGTERM)
    assert working.wait(timeout=PATIENCE_S) == 0


def test_a_memory_in_a_database_is_exported_and_imported(env, tmp_path):
    """Into a zip as one user, out of it as another; nobody else's goes along."""
    memory(env, "migrate")
    for user, text in (("ann", "buy cables"), ("cid", "paint it")):
        memory(env, "save", "todo", "--title", text, "--user", user)
    path = str(tmp_path / "ann.zip")
    words = ("--journals", "memory", "--owner", "ann", "--json")
    made = json.loads(run("export", path, *words, env=env).stdout)
    assert made["journals"] == {"memory": 1}
    taken = run("import", path, "--owner", "bob", "--json", env=env)
    assert json.loads(taken.stdout)["new"] == {"memory": 1}
    found = json.loads(memory(env, "list", "todo", "--user", "bob").stdout)["items"]
    assert [item["text"] for item in found] == ["buy cables"]
    assert run("import", path, "--owner", "cid", env=env).exit_code == 4


def test_a_title_that_a_successor_has_from_a_forgotten_record_goes_with_it(env):
    """As on a disk: named by the plan, and taken out where that is said."""
    memory(env, "migrate")
    words = ("save", "journal", "--title", "zorblatt", "--body", "The door opens with four.")
    ref = json.loads(memory(env, *words).stdout)["ref"]
    words = ("save", "journal", "--body", "The lock was changed.", "--supersedes", ref)
    later = json.loads(memory(env, *words).stdout)["ref"]
    planned = json.loads(run("forget", ref, "--dry-run", "--json", env=env).stdout)
    wanted = {"ref": later, "former": ref, "what": "title", "values": ["zorblatt"], "goes": False}
    assert planned["inherited"] == [wanted]
    assert run("forget", ref, "--with-inherited", "title", "--yes", env=env).exit_code == 0
    shown = json.loads(run("open", later, "--json", env=env).stdout)
    assert shown["text"] == "The lock was changed."
