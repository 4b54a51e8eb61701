"""The demo of memory: a real Postgres, two users, a worker, and what each of them sees.

Never touches a database but one of its own, nor the settings of the user who runs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.journals import harmless, say
from examples.postgres import OwnDatabase, PostgresServer, own_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ADMIN = "COMMONPLACE_DATABASE_ADMIN_URL"
_KEPT = {
    "ann": (
        ("message", "--role", "user", "--text", "My sister lives in Ipoh, near the station."),
        ("todo", "--title", "Buy cables for the lab"),
        (
            "journal",
            "--title",
            "Evening",
            "--body",
            "Walked home along the river, calmer than before.",
        ),
        ("preference", "--language", "en", "--religion", "general"),
    ),
    "bob": (
        ("message", "--role", "user", "--text", "My sister has moved to Oslo."),
        ("gratitude", "--text", "The soup that my neighbour brought"),
    ),
}
_ASKED = {
    "ann": ("where does my sister live", "shopping for electronics"),
    "bob": ("where does my sister live", "food from the people next door"),
}


def main() -> None:
    """Run the demo; ends with 1 and a sentence when anything is not as promised."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-demo-"))
    try:
        with _server() as url, own_database(url) as database:
            _tour(database, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _server() -> Iterator[str]:
    """The server that is named, else the wheel's, stopped at the end."""
    if given := os.environ.get(_ADMIN):
        say(
            "Memory on the Postgres that is named", "  in a database of its own, dropped at the end"
        )
        yield given
        return
    server = PostgresServer(is_durable=True)
    server.remove_after(os.getpid())
    try:
        server.start()
        say("Memory on a Postgres of its own, in", f"  {server.folder}")
        yield server.url()
    finally:
        server.remove()


def _tour(database: OwnDatabase, home: Path) -> None:
    env = {name: value for name, value in os.environ.items() if harmless(name)}
    env |= {
        "HOME": str(home),
        "COMMONPLACE_HOME": str(home / "data"),
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_DATABASE_WORKER_URL": database.worker_url,
        _ADMIN: database.admin_url,
    }
    _run(env, "migrate")
    refs: dict[str, str] = {}
    for user, records in _KEPT.items():
        for words in records:
            saved = _run(env, "save", *words, "--user", user)
            refs.setdefault(user, saved.split()[1])
    say("No model was waited for so far. The worker makes what meaning is found by:", "")
    _run(env, "worker", "--once")
    for user, questions in _ASKED.items():
        for question in questions:
            _run(env, "search", question, "--user", user)
    _show_walls(database)
    _run(env, "delete", "message", refs["ann"], "--user", "ann", "--yes")
    for user in _KEPT:
        _run(env, "search", "sister", "--user", user)


def _show_walls(database: OwnDatabase) -> None:
    """Show which rows the database gives the application's role, for each user it sets."""
    import psycopg

    lines = []
    with psycopg.connect(database.app_url) as conn:
        for user in ("", "ann", "bob"):
            conn.execute("SELECT set_config('app.user_id', %s, true)", [user])
            row = conn.execute("SELECT count(*) FROM wb_message").fetchone()
            lines.append(f"  as {user or 'nobody'}: {0 if row is None else row[0]}")
        conn.rollback()
    say("SELECT count(*) FROM wb_message, asked by the application's role:", "\n".join(lines))
    if [line[-1] for line in lines] != ["0", "1", "1"]:
        sys.exit("The demo stopped: the rows are not guarded.")


def _run(env: Mapping[str, str], *words: str) -> str:
    command = [sys.executable, "-P", "-m", "commonplace", "memory", *words]
    done = subprocess.run(  # noqa: S603  our own commands
        command, env=dict(env), capture_output=True, text=True, check=False
    )
    say(f"$ commonplace memory {_shown(words)}", done.stdout or done.stderr)
    if done.returncode:
        sys.exit(f"The demo stopped: {words[0]} failed. {done.stderr}")
    return done.stdout


def _shown(words: tuple[Any, ...]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


if __name__ == "__main__":
    main()
