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

_MIGRATIONS = [file.read_text("utf-8") for file in ROOT.rglob("migrations/*.sql")]
_TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\n\)", re.DOTALL)
_RENAMED = dict(
    x for text in _MIGRATIONS for x in re.findall(r"ALTER TABLE (\w+) RENAME TO (\w+)", text)
)
OWNED = frozenset(
    _RENAMED.get(name, name)
    for text in _MIGRATIONS
    for name, columns in _TABLE.findall(text)
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
    "timeline.lease_due": "cp_due cp_timelines",
    **dict.fromkeys(("lease_unseen", "lease_upkeep", "ask_for_some"), "cp_kept"),
    # Old calls leave whosever they are.
    "prune_old_calls": "wb_tool_invocation_log",
    # Who shows a token, or signs in, is not known before it is found.
    **dict.fromkeys(("tokens.of_ids", "tokens.all", "tokens.any", "tokens.ids"), "cp_tokens"),
    "tokens.used": "cp_tokens",
    **dict.fromkeys(
        (f"sign_ins.{x}" for x in ("of_keys", "of_kind", "alter", "remove", "trim")), "cp_sign_ins"
    ),
    # So do its turns to pack.
    **dict.fromkeys(("lease_packing", "unpacked"), "wb_index"),
    "next_user": "wb_outbox",
    # The owner of the tables makes indexes of large users.
    "list_sizes": "wb_models",
}
"""The statements that are for all users, and the tables that each may so touch."""

TOLD_IN_CODE = {
    "VACUUM (FREEZE, INDEX_CLEANUP ON) {}",
    "VACUUM (FULL, FREEZE) {}",
    " FOR UPDATE",
    "WITH (?:RECURSIVE )?",
    "WITH RECURSIVE ",
}
"""What code says in SQL: of whole tables, or what is put before or behind a statement that is parsed."""

FUNCTIONS = """
SELECT proname, prosrc FROM pg_proc JOIN pg_language AS l ON l.oid = prolang
WHERE pronamespace = 'public'::regnamespace AND l.lanname IN ('plpgsql', 'sql') ORDER BY 1
"""
OWNED_THERE = """
SELECT DISTINCT table_name::text FROM information_schema.columns
WHERE table_schema = 'public' AND column_name = 'user_id'
"""

# What stands between the statements and the expressions of a function.
_APART = re.compile(
    r";|:=|\b(?:BEGIN|IF|ELSIF|THEN|ELSE|LOOP|PERFORM|RETURN(?: QUERY)?|FOR \w+ IN(?=\s+SELECT))\b"
)
_VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "TRUNCATE", "EXECUTE", "WITH")
# SQL in capital letters, as all of ours is, or what is plainly SQL in small ones.
_SQL = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE FROM|MERGE|COPY|TRUNCATE|WITH|EXECUTE|DECLARE|VACUUM|LISTEN|NOTIFY)\b"
    r"|(?i:\bselect\b.*\bfrom\b|\binsert\s+into\b|\bupdate\s.*\bset\b|\bdelete\s+from\b)",
    re.DOTALL,
)

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
"""What touches rows by conditions, of which each is read."""

_OTHER = (exp.Merge, exp.Copy, exp.TruncateTable, exp.Command)
"""What touches rows otherwise: it may name no table that has an owner."""


def without_owner(tree):
    """The tables of a statement that have an owner, which it does not name where it touches them.

    Named is an owner by what the row's must be equal to: a value, or the owner of a row for which
    that holds. A name that a part of the statement has beside such a table counts as the table.
    """
    if isinstance(tree, _OTHER):
        return {x for x in re.findall(r"\w+", tree.sql()) if x in OWNED}
    made = {each.alias for each in tree.find_all(exp.CTE)}
    found = made & OWNED
    for node in (x for x in tree.walk() if isinstance(x, (*_Touching, *_OTHER))):
        if isinstance(node, _OTHER):
            found |= without_owner(node)
            continue
        touched = [x for x in _tables_at(node) if x.name in OWNED]
        if isinstance(node, exp.Insert):
            columns = {x.name for x in node.this.expressions}
            found |= {x.name for x in touched if OWNER not in columns}
            continue
        named = _named_at(node, {x.alias or x.name for x in touched})
        found |= {x.name for x in touched if (x.alias or x.name) not in named}
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


def _named_at(node, touched):
    """Of the tables that it touches, by their names there, those whose owner is named."""
    alone = next(iter(touched)) if len(touched) == 1 else ""
    found = [*_compared(node, touched, alone)]
    named, before = set(), None
    while named != before:
        before = set(named)
        for mine, other, kept in found:
            is_known = other not in touched or other in named
            named |= {mine} if is_known and kept in {None, mine} else set()
    return named


def _compared(node, touched, alone):
    """The owners that must be equal to something: of which table, that of which other, if any.

    The third is the one table that the condition picks rows of, as in a left join; None where it
    picks those of all. In a right or full join it picks those of none for sure: no table's name.
    """
    joins = [
        (x, x.this.alias_or_name if x.side == "LEFT" else x.side or None) for x in _joins_at(node)
    ]
    given = [(node.args.get("where"), None), *((x.args.get("on"), kept) for x, kept in joins)]
    for condition, kept in given:
        pairs = [pair for each in _all_of(condition) for pair in _equal(each)]
        for mine, other in (x for one, two in pairs for x in ((one, two), (two, one))):
            if isinstance(mine, exp.Column) and mine.name == OWNER:
                tables = {x.table for x in other.find_all(exp.Column)} & touched
                is_owner = isinstance(other, exp.Column) and other.name == OWNER
                if is_owner or not tables:
                    yield mine.table or alone, other.table or alone if is_owner else None, kept


def _joins_at(node):
    """The joins of a statement or a part of it."""
    yield from node.args.get("joins") or []
    begun = node.args.get("from_") or node.args.get("from")
    if begun is not None:
        yield from begun.this.args.get("joins") or []


def _all_of(condition):
    """The conditions that must all hold for it to hold."""
    if isinstance(condition, exp.Where | exp.Paren):
        yield from _all_of(condition.this)
    elif isinstance(condition, exp.And):
        yield from (*_all_of(condition.left), *_all_of(condition.right))
    elif condition is not None:
        yield condition


def _equal(condition):
    """What must be equal, in pairs, where a condition says so."""
    if isinstance(condition, exp.EQ):
        one, two = condition.left, condition.right
        if isinstance(one, exp.Tuple) and isinstance(two, exp.Tuple):
            yield from zip(one.expressions, two.expressions, strict=True)
        else:
            yield one, two


def statements():
    """Each statement of the server by a name."""
    for file in sorted(ROOT.rglob("*.sql")):
        if file.parent.name != "migrations":
            for name, text in parse_queries(file.read_text("utf-8")).items():
                yield f"{file.stem}.{name}", text
    for name in timeline_sql.sql():
        yield f"timeline.{name}", composed(name).as_string(None)


def statements_in(body):
    """Each statement of a function, and each expression of it that asks for rows."""
    plain = re.sub(
        r"--.*|\bpublic\.|RETURNING [^;]* INTO \w+|\bINTO (?!\w+ AS|\w+ \()\w+", "", body
    )
    for each in (x.strip() for x in _APART.split(plain)):
        if each.startswith(_VERBS):
            yield each
        elif re.search(r"\b(?:SELECT|FROM)\b", each):
            yield f"SELECT {each}"


def test_each_statement_names_the_owner_of_each_row():
    """But for what is for all users, which is named here with its reason."""
    wrong, asked = {}, set()
    for name, text in statements():
        may = (OF_ALL.get(name) or OF_ALL.get(name.partition(".")[2]) or "").split()
        found = {table for tree in parsed(text) for table in without_owner(tree)}
        asked |= {name, name.partition(".")[2]} if found else set()
        if found - {*may}:
            wrong[name] = found
    assert not wrong
    assert asked >= OF_ALL.keys(), "a statement that names the owner needs no leave"


def test_each_statement_of_a_trigger_names_it_too(database):
    """And no rows lie where nobody looks: in a view, or in a table whose owner was added later."""
    found = [(name, x) for name, body in database.rows(FUNCTIONS) for x in statements_in(body)]
    assert len(found) > 10
    wrong = {
        text: f"{tables} in {name}"
        for name, text in found
        if (tables := {x for tree in parsed(text) for x in without_owner(tree)})
    }
    assert not wrong
    assert {name for (name,) in database.rows(OWNED_THERE)} == OWNED


def test_what_a_function_says_of_rows_is_found():
    """Also in a loop, in an expression, and in a text that it runs."""
    body = """
        BEGIN
            IF NOT EXISTS (SELECT FROM wb_todo) THEN
                SELECT o.body INTO said FROM public.cp_overviews AS o WHERE o.section = name;
            END IF;
            FOR each IN SELECT id FROM wb_docs LOOP
                EXECUTE 'DELETE FROM cp_kept';
                INSERT INTO public.wb_outbox AS known (kind, ref_id) VALUES ('todo', each.id);
            END LOOP;
            said := (SELECT title FROM wb_journal LIMIT 1);
            RETURN QUERY SELECT title FROM wb_message WHERE user_id = owner;
        END
    """
    found = {
        x for text in statements_in(body) for tree in parsed(text) for x in without_owner(tree)
    }
    assert found == {"wb_todo", "cp_overviews", "wb_docs", "cp_kept", "wb_outbox", "wb_journal"}


def test_no_statement_stands_in_code():
    """What code says in SQL would be parsed by nobody, whole or in parts."""
    found = set()
    for file in ROOT.rglob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        said = {id(x.value) for x in ast.walk(tree) if isinstance(x, ast.Expr)}  # docstrings
        found |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in said
            and _SQL.search(node.value)
        }
    assert found == TOLD_IN_CODE, "what is no SQL needs a place in TOLD_IN_CODE, or other words"


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
        # By a name that is not its own, or by a condition that need not hold.
        ("SELECT FROM wb_todo WHERE user_id = %(owner)s OR done", {"wb_todo"}),
        ("SELECT FROM wb_todo WHERE NOT (user_id = %(owner)s)", {"wb_todo"}),
        ("SELECT FROM wb_todo AS a WHERE a.user_id = a.user_id", {"wb_todo"}),
        ("SELECT FROM wb_todo AS a WHERE a.user_id = user_id", {"wb_todo"}),
        ("SELECT FROM wb_todo AS a WHERE a.user_id = a.title", {"wb_todo"}),
        ("SELECT FROM wb_todo WHERE (user_id, id) > (%(owner)s, %(id)s)", {"wb_todo"}),
        ("SELECT FROM wb_todo WHERE (user_id, id) = (%(owner)s, %(id)s)", set()),
        ("SELECT FROM wb_todo AS a JOIN wb_docs AS d ON d.user_id = a.user_id", {"wb_todo", "wb_docs"}),
        ("SELECT FROM wb_todo AS a LEFT JOIN wb_docs AS d ON d.user_id = 'x' AND a.user_id = 'x'", {"wb_todo"}),
        ("SELECT FROM wb_todo AS a RIGHT JOIN wb_docs AS d ON d.user_id = 'x'", {"wb_todo", "wb_docs"}),
        ("WITH wb_todo AS (SELECT title FROM wb_todo) SELECT title FROM wb_todo", {"wb_todo"}),
        ("MERGE INTO wb_todo AS t USING it AS s ON t.id = s.id WHEN MATCHED THEN DELETE", {"wb_todo"}),
        ("COPY wb_todo TO STDOUT", {"wb_todo"}),
        ("TRUNCATE wb_todo", {"wb_todo"}),
        ("DECLARE c CURSOR FOR SELECT title FROM wb_todo", {"wb_todo"}),
    ],
)  # fmt: skip
def test_what_names_no_owner_is_found(text, found):
    """In each part of a statement, by the name of each table."""
    assert {table for tree in parsed(text) for table in without_owner(tree)} == found
