"""A database is migrated while the former version serves it; then both serve it side by side."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tarfile
import threading
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path

import httpx2
import pytest
from server.tests.databases import SERIES
from server.tests.http_world import HttpServer
from server.tests.proof.journal_calls import ROWS, TOOLSETS, Caller, filled
from tests.patience import PATIENCE_S, until

from commonplace_server.postgres.migrate import list_missing, migrate_postgres

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
MIGRATIONS = ":(glob)server/src/**/migrations/*.sql"
FLAGS = ("--toolsets", TOOLSETS)
SERVE = ("serve", "--http", "127.0.0.1:0", *FLAGS)
AT_LEAST = len(ROWS)
"""Writes that each client has answered between two steps: one of each journal."""

_KNOWN = """
import json
from commonplace.app.process import IN_DATABASE
from commonplace_server.wiring.schema import list_series
print(json.dumps([IN_DATABASE, {name: len(each) for name, each in list_series().items()}]))
"""


class Former:
    """The program before the latest commits that added migrations, from this repository's history."""

    def __init__(self, folder, commits):
        found = _git("log", "--format=%H", "--diff-filter=A", f"-n{commits}", "--", MIGRATIONS)
        added = found.decode().split()
        packed = _git("archive", f"{added[-1]}^", "src", "server/src") if added else b""
        if not packed:
            pytest.skip("The history of the repository is not here.")
        with tarfile.open(fileobj=BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        path = os.pathsep.join(str(folder / x) for x in ("src", "server/src"))
        self._env = {**os.environ, "PYTHONPATH": path}
        done = self.run("-c", _KNOWN)
        assert done.returncode == 0, done.stderr
        self.journals, self.known = json.loads(done.stdout)

    def token(self):
        """A token of a user that it makes."""
        given = ("--owner", "ann", "--toolsets", TOOLSETS, "--format", "json")
        done = self.run("-m", "commonplace", "tokens", "create", *given)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["token"]

    def run(self, *words, **env):
        """Run its Python to the end."""
        return subprocess.run(
            [sys.executable, *words],
            env={**self._env, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

    @contextmanager
    def serving(self):
        """The address of a server of it."""
        words = ("-m", "commonplace", *SERVE)
        with (
            open(os.devnull, "wb") as nothing,
            subprocess.Popen(
                [sys.executable, *words],
                env=self._env,
                stdout=subprocess.PIPE,
                stderr=nothing,
                text=True,
            ) as process,
        ):
            try:
                line = process.stdout.readline()
                yield line.removeprefix("Serving on ").strip().removesuffix("/mcp")
            finally:
                process.kill()


def _git(*words):
    """What git says of this repository; empty where it does not know."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False).stdout


class Writer(threading.Thread):
    """A client of one server, which writes in each journal in turn and must never be refused."""

    def __init__(self, base, token, rows, name):
        super().__init__(daemon=True)
        self._caller = Caller(base, token)
        self._rows = rows
        self._name = name
        self._over = threading.Event()
        self.kept = {}
        self.error = None

    def run(self):
        try:
            for number in itertools.count():
                if self._over.is_set():
                    return
                self._write(self._rows[number % len(self._rows)], f"quokka{self._name}{number}z")
        except (AssertionError, httpx2.HTTPError) as exc:
            self.error = exc

    def _write(self, row, word):
        given = {"TEXT": f"the {word} gate", "KEY": word, "AT": "2025-03-04 14:05", "WORD": word}
        ref = self._caller.done(filled(row.writes[0], **given)).ref
        assert ref not in self.kept
        self.kept[ref] = word
        for read in row.reads:
            assert word in self._caller.done(filled(read, REF=ref, **given)).text, read

    def go_on(self):
        """Until so many more are written, or one was refused."""
        most = len(self.kept) + AT_LEAST
        until(lambda: len(self.kept) >= most or self.error, f"{AT_LEAST} more writes")
        assert self.error is None

    def shows(self, kept):
        """Check that its server opens all of these."""
        for ref, word in kept.items():
            assert word in self._caller.done(("open_ref", {"ref": ref})).text, ref

    def __enter__(self):
        self._caller.__enter__()
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()
        self._caller.__exit__()


@pytest.fixture(params=[2, pytest.param(7, marks=pytest.mark.whole)])
def former(request, tmp_path, words_only, empty_database, monkeypatch):
    """The program before the two latest migrations; in a whole run before seven."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", empty_database.app_url)
    monkeypatch.setenv("COMMONPLACE_SERVE_PER_SECOND", "100000")
    return Former(tmp_path / "former", request.param)


def test_two_versions_serve_one_database_while_it_is_migrated(
    empty_database, former, counted, tmp_path
):
    """Step by step; no write is refused or lost, and each version reads what the other wrote."""
    admin = empty_database.admin_url
    migrate_postgres(admin, {x: SERIES[x][: former.known[x]] for x in former.known})
    steps = list_missing(admin, SERIES)
    assert steps
    rows = [row for row in ROWS if row.name in former.journals]
    with HttpServer(*FLAGS) as refused:
        assert refused.process.wait(PATIENCE_S) == 1
    assert "this program knows schema" in refused.log
    assert "commonplace memory migrate" in refused.log
    token = former.token()
    with ExitStack() as held:
        base = held.enter_context(former.serving())
        old = held.enter_context(Writer(base, token, rows, "old"))
        old.go_on()
        for step in range(1, len(steps) + 1):
            applied = migrate_postgres(admin, up_to(former, steps[:step]))
            assert applied == steps[step - 1 : step]
            old.go_on()
        new_server = held.enter_context(HttpServer(*FLAGS))
        new = held.enter_context(Writer(new_server.base, token, rows, "new"))
        for each in (new, old):
            each.go_on()
        assert httpx2.get(f"{base}/readyz", timeout=PATIENCE_S).status_code == 200
        for one, other in ((old, new), (new, old)):
            one.shows(other.kept.copy())
    assert (old.error, new.error) == (None, None)
    again = former.run("-m", "commonplace", *SERVE, COMMONPLACE_HOME=str(tmp_path / "other"))
    assert again.returncode == 1
    assert "Use the newer commonplace." in again.stderr
    counted("migrations applied while two versions serve", len(steps))


def up_to(former, steps):
    """The series as far as the former version knows them, and these steps."""
    names = {x.split()[0]: [y for y in steps if y.split()[0] == x.split()[0]] for x in steps}
    return {
        x: migrations[: former.known[x] + len(names.get(x, ()))] for x, migrations in SERIES.items()
    }
