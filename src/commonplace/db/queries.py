"""SQL kept in `.sql` files beside the code that runs it, each query with a name and a sentence.

Never builds SQL from values: what varies is bound by its name.
"""

from __future__ import annotations

import re
import sqlite3
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from commonplace.core.errors import Internal, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NAME = re.compile(r"^-- name: *([a-z][a-z0-9_]*) *$", re.MULTILINE)


def read_sql(package: str, file: str) -> str:
    """The text of a `.sql` file of a package. Raises: NotFound."""
    found = package_folder(package) / file
    if not found.is_file():
        raise NotFound(f"{package} holds no {file}.")
    return found.read_text("utf-8")


def package_folder(package: str) -> Path:
    """The folder of a package's files; `importlib.resources` would take 8 ms to import."""
    from pathlib import Path  # a hook reads SQL without this function, and needs no pathlib

    return Path(import_module(package).__path__[0])


def read_queries(package: str, file: str) -> Mapping[str, str]:
    """The queries of a `.sql` file by name, in the file's order. Raises: NotFound, Internal."""
    return MappingProxyType(parse_queries(read_sql(package, file)))


def parse_queries(text: str) -> dict[str, str]:
    """Split a file at its `-- name: x` lines; each name is followed by a sentence in a comment.

    Raises: Internal for SQL before the first name, a name given twice, one without a sentence or
    without SQL.
    """
    before, *rest = _NAME.split(text)
    if _body(before):
        raise Internal("A query stands before the first `-- name:` line.")
    queries: dict[str, str] = {}
    for name, block in zip(rest[::2], rest[1::2], strict=True):
        if name in queries:
            raise Internal(f"Two queries are named {name}.")
        if not block.strip().startswith("--"):
            raise Internal(f"The query {name} has no sentence that says what it is for.")
        queries[name] = _body(block)
        if not queries[name]:
            raise Internal(f"The query {name} is empty.")
    return queries


def split_statements(sql: str) -> list[str]:
    """The statements of a script, triggers whole, for running inside an open transaction.

    (`executescript` would commit it first.) Raises: Internal when the last one has no end.
    """
    statements, pending = [], ""
    for part in re.split("(?<=;)", sql):
        pending += part
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    if pending.strip() and not all(
        x.lstrip().startswith("--") for x in pending.split("\n") if x.strip()
    ):
        raise Internal("A script ends in the middle of a statement.")
    return statements


def _body(block: str) -> str:
    lines = (line for line in block.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")
