"""Named SQL."""

import pytest
from tests.cases import cases

from commonplace.core.errors import Internal, NotFound
from commonplace.db.queries import parse_queries, read_queries, split_statements

TWO = """
-- What this file is about.

-- name: first
-- Finds one.
SELECT 1
-- a comment inside
WHERE 1;

-- name: second_one
-- Finds two.
SELECT 2;
"""


def test_queries_have_names():
    """Each query is found by its name, without comments and closing semicolon."""
    assert parse_queries(TWO) == {"first": "SELECT 1\nWHERE 1", "second_one": "SELECT 2"}


@cases(
    ("text", "words"),
    [
        ("SELECT 1;\n-- name: a\n-- A.\nSELECT 1;", "before the first"),
        ("-- name: a\n-- A.\nSELECT 1;\n-- name: a\n-- B.\nSELECT 2;", "named a"),
        ("-- name: a\nSELECT 1;", "no sentence"),
        ("-- name: a\n-- A.\n", "is empty"),
    ],
)
def test_a_file_that_is_not_kept_in_order_is_refused(text, words):
    """SQL without a name, a name twice, a name without a sentence or without SQL."""
    with pytest.raises(Internal, match=words):
        parse_queries(text)


def test_queries_are_read_beside_their_owner():
    """A file of a package is found; an absent one is named."""
    assert "find_doc" in read_queries("commonplace.index.sqlite", "queries.sql")
    with pytest.raises(NotFound, match=r"nothing\.sql"):
        read_queries("commonplace.index.sqlite", "nothing.sql")


def test_a_script_is_split_with_its_triggers_whole():
    """A semicolon inside a trigger or a string ends nothing; a comment at the end is no statement."""
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n DELETE FROM b;\nEND;"
    script = f"-- a; b\nCREATE TABLE a (x); {trigger}\nINSERT INTO a VALUES ('x;\ny');\n-- done\n"
    assert split_statements(script) == [
        "-- a; b\nCREATE TABLE a (x);",
        trigger,
        "INSERT INTO a VALUES ('x;\ny');",
    ]
    with pytest.raises(Internal):
        split_statements("CREATE TABLE a (x)")
