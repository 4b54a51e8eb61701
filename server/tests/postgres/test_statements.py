"""Every statement names the owner of each row that it touches, in the key: so Citus can route it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

import commonplace_server
from commonplace.db.queries import parse_queries
from commonplace.journals.timeline import queries as timeline_sql
from commonplace_server.store.timeline import query as composed

ROOT = Path(commonplace_server.__file__).parent
OWNER = "user_id"

_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\n\);", re.DOTALL)
OWNED = frozenset(
    name
    for file in ROOT.rglob("migrations/*.sql")
    for name, columns in _TABLE.findall(file.read_text("utf-8"))
    if re.search(rf"^\s+{OWNER}\b", columns, re.MULTILINE)
)
"""The tables whose rows have an owner."""

OF_THE_WORKER = (
    *(f"lease_{x}" for x in ("by_user", "due", "words", "plain", "others_below", "others_above")),
    *("renew", "waiting", "take_lead", "note_whole", "users", "stale"),
)
"""What asks the worker's queue of all users, which holds no text."""

OF_ALL = {
    **dict.fromkeys(OF_THE_WORKER, "wb_outbox"),
    # What is due of users is leased by times and counts.
    **dict.fromkeys(("lease_unseen", "lease_upkeep", "ask_for_some"), "cp_kept"),
    # Old calls leave whosever they are.
    "prune_old_calls": "wb_tool_invocation_log",
    # Who shows a token, or signs in, is not known before it is found.
    **dict.fromkeys(("tokens.of_ids", "tokens.all", "tokens.any", "tokens.ids"), "cp_tokens"),
    "tokens.used": "cp_tokens",
    **dict.fromkeys(
        (f"sign_ins.{x}" for x in ("of_keys", "of_kind", "alter", "remove")), "cp_sign_ins"
    ),
    # So do its turns to pack.
    **dict.fromkeys(("lease_packing", "unpacked"), "wb_index"),
    "next_user": "wb_outbox",
    # The owner of the tables makes indexes of large users.
    "list_sizes": "wb_models",
}
"""The statements that are for all users, and the table that each may so touch."""

# What is appended to another statement, and something that it may be appended to.
_BEGINNINGS = {
    "AND": "SELECT FROM it WHERE true ",
    "ON CONFLICT": "INSERT INTO it VALUES (1) ",
    **dict.fromkeys(("ORDER", "FOR", "LIMIT", "UNION"), "SELECT FROM it "),
}


def parsed(text):
    """The trees of a statement; what the parser does not know, and names no row, is left out."""
    plain = re.sub(r"\{\w+\}", "it", text).replace("<#>", "<->")
    plain = plain.replace("OVERRIDING SYSTEM VALUE", "").strip().rstrip(";")
    begun = (before for word, before in _BEGINNINGS.items() if plain.startswith(word))
    trees = sqlglot.parse(next(begun, "") + plain, read="postgres")
    assert trees
    return trees


_Touching = (exp.Select, exp.Update, exp.Delete, exp.Insert)


def without_owner(tree):
    """The tables of a statement that have an owner, which it does not name where it touches them."""
    made = {each.alias for each in tree.find_all(exp.CTE)}
    found = set()
    for node in (x for x in tree.walk() if isinstance(x, _Touching)):
        touched = [x for x in _tables_at(node) if x.name in OWNED - made]
        if isinstance(node, exp.Insert):
            columns = {x.name for x in node.this.expressions}
            found |= {x.name for x in touched if OWNER not in columns}
            continue
        named = _named_at(node)
        alone = {""} if len(touched) == 1 else set()
        found |= {x.name for x in touched if not ({x.alias or x.name} | alone) & named}
    return found


def _tables_at(node):
    """The tables that a statement, or a part of it, names by itself, not those of its parts."""
    begun = [node.args.get("from_") or node.args.get("from")]
    begun += [] if isinstance(node, exp.Select) else [node.this]
    more = node.args.get("using") or []
    begun += more if isinstance(more, list) else [more]
    while begun:
        each = begun.pop()
        if isinstance(each, exp.From | exp.Schema | exp.Join):
            each = each.this
        if isinstance(each, exp.Table):
            yield each
        if each is not None:
            begun += each.args.get("joins") or []
    for join in node.args.get("joins") or []:
        if isinstance(join.this, exp.Table):
            yield join.this


def _named_at(node):
    """By what names of tables its conditions compare the owner; empty where the name is left out."""
    joins = node.args.get("joins") or []
    conditions = [node.args.get("where"), *(x.args.get("on") for x in joins)]
    compared = [
        column
        for condition in conditions
        if condition is not None
        for kind in (exp.EQ, exp.Tuple)
        for each in condition.find_all(kind)
        if each.find_ancestor(*_Touching) is node
        for column in each.iter_expressions()
    ]
    return {x.table for x in compared if isinstance(x, exp.Column) and x.name == OWNER}


def statements():
    """Each statement of the server by a name."""
    for file in sorted(ROOT.rglob("*.sql")):
        if file.parent.name != "migrations":
            for name, text in parse_queries(file.read_text("utf-8")).items():
                yield f"{file.stem}.{name}", text
    for name in timeline_sql.sql():
        yield f"timeline.{name}", composed(name).as_string(None)


def test_each_statement_names_the_owner_of_each_row():
    """But for what is for all users, which is named here with its reason."""
    wrong, asked = {}, set()
    for name, text in statements():
        may = {OF_ALL.get(name) or OF_ALL.get(name.partition(".")[2])}
        found = {table for tree in parsed(text) for table in without_owner(tree)}
        asked |= {name, name.partition(".")[2]} if found else set()
        if found - may:
            wrong[name] = found
    assert not wrong
    assert asked >= OF_ALL.keys(), "a statement that names the owner needs no leave"


def test_no_statement_stands_in_code():
    """What code says in SQL of rows that have an owner would be parsed by nobody."""
    words = re.compile(
        rf"\b(?:SELECT|INSERT|UPDATE|DELETE)\b.*\b(?:{'|'.join(OWNED)})\b", re.DOTALL
    )
    found = [
        f"{file.name}:{node.lineno}"
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and words.search(node.value)
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT title FROM wb_todo WHERE id = %(id)s", {"wb_todo"}),
        ("SELECT title FROM wb_todo WHERE user_id = %(owner)s", set()),
        ("DELETE FROM wb_todo WHERE user_id = %(owner)s AND id IN (SELECT id FROM wb_journal)", {"wb_journal"}),
        ("SELECT FROM wb_todo AS a JOIN wb_docs AS d ON d.id = a.id WHERE a.user_id = 'x'", {"wb_docs"}),
        ("SELECT FROM wb_todo AS a JOIN wb_docs AS d ON d.user_id = a.user_id WHERE a.user_id = 'x'", set()),
        ("INSERT INTO wb_todo (id) VALUES (1)", {"wb_todo"}),
        ("WITH x AS (UPDATE wb_todo SET done = true RETURNING id) SELECT id FROM x", {"wb_todo"}),
        ("AND e.id = %(id)s", set()),
    ],
)  # fmt: skip
def test_what_names_no_owner_is_found(text, found):
    """In each part of a statement, by the name of each table."""
    assert {table for tree in parsed(text) for table in without_owner(tree)} == found
