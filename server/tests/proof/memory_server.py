"""A Postgres of a test alone with users' memories in it, and a look at the bytes on its disk."""

from __future__ import annotations

from pathlib import Path

import psycopg
from examples.postgres import OwnDatabase
from server.tests.databases import SERIES

from commonplace_server.postgres.migrate import migrate_postgres


def database_on(server, *, name="postgres") -> OwnDatabase:
    """The tables of memory on this server, and the three addresses of it."""
    migrate_postgres(server.url(database=name), SERIES)
    return OwnDatabase(
        admin_url=server.url(database=name),
        app_url=server.url("commonplace_app", name),
        worker_url=server.url("commonplace_worker", name),
    )


def bytes_on_disk(server, *texts: str | bytes) -> dict[str | bytes, list[str]]:
    """Files of the server that hold each after a checkpoint, the write-ahead log left out."""
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CHECKPOINT")
    held: dict[str | bytes, list[str]] = {text: [] for text in texts}
    for path in sorted(Path(server.folder).rglob("*")):
        if path.is_file() and not {"pg_wal", "wheel"} & {*path.parts}:
            content = path.read_bytes()
            for text, files in held.items():
                if any(each in content for each in _spellings(text)):
                    files.append(str(path.relative_to(server.folder)))
    return held


def _spellings(text: str | bytes) -> list[bytes]:
    if isinstance(text, bytes):
        return [text]
    return [each.encode() for each in {text, text.lower(), text.capitalize()}]


def relation_of(database, file: str) -> str:
    """The table or index that a file of the data folder is, for people who read a failure."""
    number = Path(file).name.split(".")[0].split("_")[0]
    if not number.isdigit():
        return file
    rows = database.rows("SELECT relname FROM pg_class WHERE relfilenode = %s", int(number))
    return rows[0][0] if rows else file
