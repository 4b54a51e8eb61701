"""Many users at once through few connections: what they do, at random, and what they may see."""

from __future__ import annotations

import json
import random
import re
import threading

import psycopg
from tests.contracts.memory_laws import SQL, WORDS

from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.journals.memory.records import KINDS

# The mark of a user stands in all that user writes; what a user is shown holds no other mark.
MARK = re.compile(r"mark[a-z]+q")
NAMES = (
    *("ann", "Ann", "a", "A", "\u0430", "\uff41", "é", "e", "O'Hara", '"x" OR 1=1', "%", "_", "$$"),
    *("'; DROP TABLE wb_todo; --", "$user_id", "%(user_id)s", "{}", "\\", "\u202eann", "..", "a/b"),
    *("ann ", "\U0001f600" * 128, "x" * 128),
)
HOSTILE = (SQL, "%s %(user_id)s {}", "$1 $$ \\' \\\"", "mark", "NULL", "'||current_user||'")


class Person:
    """A user and what that user has kept by now, by (kind, id)."""

    def __init__(self, memory, number):
        self.memory = memory
        self.mark = "mark" + "".join(chr(97 + int(digit)) for digit in str(number)) + "q"
        self.known: dict[tuple[str, str], str] = {}
        self.answers = 0
        self._keyed: set[str] = set()
        tools = memory.service
        offered = (*tools.toolset(lambda: tools).tools, *tools.write_toolset(lambda: tools).tools)
        self._tools = {tool.name: tool for tool in offered}

    def ask(self, name, **arguments):
        """Call a tool; whatever it answers, an error too, holds this user's mark alone."""
        try:
            answer = self._tools[name].call(arguments)
        except CommonplaceError as exc:
            self._look(str(exc))
            raise
        self._look(answer.text + json.dumps(answer.facts))
        return answer.facts

    def words(self, chance):
        return " ".join([self.mark, chance.choice(WORDS), chance.choice([*HOSTILE, "", "", ""])])

    def save(self, chance, key=""):
        words = self.words(chance)
        kind = chance.choice(KINDS)
        fields = {
            "message": {"role": chance.choice(["user", "assistant"]), "text": words},
            "journal": {"title": words, "body": self.words(chance)},
            "todo": {"title": words},
            "gratitude": {"text": words},
            "preference": {"flags": {"tone": words}},
        }[kind]
        saved = self.ask("memory_save", kind=kind, idempotency_key=key, **fields)
        # Deleted, what had a key does not come back with it.
        if not key or kind == "preference" or saved["ref_id"] not in self._keyed:
            self.known[kind, saved["ref_id"]] = words
        if key:
            self._keyed.add(saved["ref_id"])
        return kind, saved["ref_id"]

    def alter(self, chance):
        mine = [each for each in self.known if each[0] in {"journal", "todo", "gratitude"}]
        if not mine:
            return
        kind, ref_id = chance.choice(mine)
        words = self.words(chance)
        field = "text" if kind == "gratitude" else "title"
        self.ask("memory_save", kind=kind, ref=ref_id, **{field: words})
        self.known[kind, ref_id] = words

    def delete(self, chance):
        if self.known:
            kind, ref_id = chance.choice(list(self.known))
            self.ask("memory_delete", kind=kind, ref=ref_id)
            del self.known[kind, ref_id]

    def pry(self, chance, other):
        """What is another's is not there: neither altered nor deleted, nor listed from its place."""
        # What everybody calls the same is no other's.
        theirs = [each for each in list(other.known) if each[0] != "preference"]
        if not theirs:
            return
        kind, ref_id = chance.choice(theirs)
        asked = [("memory_delete", {"kind": kind, "ref": ref_id})]
        if kind != "message":
            fields = {"text": "x"} if kind == "gratitude" else {"title": "x"}
            asked.append(
                ("memory_save", {"kind": kind, "ref": f"memory:{kind}/{ref_id}", **fields})
            )
        for name, arguments in asked:
            try:
                self.ask(name, **arguments)
            except NotFound:
                continue
            raise AssertionError(f"{name} found what is another's.")

    def list(self, chance):
        kind = chance.choice(KINDS)
        listed, cursor = [], ""
        while True:
            facts = self.ask("memory_list", kind=kind, limit=50, cursor=cursor)
            listed += [each["ref_id"] for each in facts["records"]]
            if not (cursor := facts.get("cursor") or ""):
                break
        assert sorted(listed) == sorted(ref_id for of, ref_id in self.known if of == kind)

    def search(self, chance, other):
        query = chance.choice([*WORDS, self.mark, other.mark, SQL, "tone", "'; SELECT 1; --"])
        facts = self.ask("memory_search", query=query, top_k=chance.choice([1, 8, 100]))
        for hit in facts["payload"]["results"]:
            assert self.mark in hit["snippet"]
            assert (hit["kind"], hit["ref_id"]) in self.known

    def check_all(self):
        """All that was kept is there and found, and nothing else."""
        assert self.memory.stats().found == len(self.known)
        self.list(random.Random(1))
        found = set()
        for kind in KINDS:
            facts = self.ask("memory_search", query=self.mark, kinds=[kind], top_k=100)
            found |= {(hit["kind"], hit["ref_id"]) for hit in facts["payload"]["results"]}
            left_out = facts.get("left_out") or 0
            of_kind = {each for each in self.known if each[0] == kind}
            assert found <= {*self.known}
            assert len(found & of_kind) + left_out >= min(len(of_kind), 100)

    def _look(self, shown):
        self.answers += 1
        assert {*MARK.findall(shown)} <= {self.mark}


def break_off(pool, user, chance):
    """A transaction of this user that fails in the middle, as requests do."""
    how = chance.randrange(4)
    try:
        with pool.owner_transaction(user) as conn:
            conn.execute("SELECT content FROM wb_message")
            if how == 0:
                conn.execute("SELECT 1 / 0")
            elif how < 3:
                raise (ZeroDivisionError, KeyboardInterrupt)[how - 1]
            else:
                conn.execute("SET LOCAL statement_timeout = 1")
                conn.execute("SELECT pg_sleep(1)")
    except (ZeroDivisionError, KeyboardInterrupt, CommonplaceError):
        return
    raise AssertionError("It went through.")


def run_crowd(people, pool, *, seed, threads, operations):
    """So many operations in all, by so many threads; each user is one thread's. Raises what failed.

    pool: in which transactions are broken off; None where each user has a file.
    """
    failures = []

    def work(number):
        chance = random.Random(seed * 1000 + number)
        mine = people[number::threads]
        try:
            for _ in range(operations // threads):
                _step(chance.choice(mine), chance, people, pool)
        except BaseException as exc:  # noqa: BLE001  whatever it is, the test tells it
            failures.append(exc)

    working = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for each in working:
        each.start()
    for each in working:
        each.join()
    if failures:
        raise failures[0]


def _step(person, chance, people, pool):
    other = chance.choice([each for each in people if each is not person])
    match chance.randrange(16):
        case 0 | 1 | 2 | 3:
            person.save(chance)
        case 4:
            key = chance.choice("abc")
            assert person.save(random.Random(key), key) == person.save(random.Random(key), key)
        case 5 | 6:
            person.alter(chance)
        case 7 | 8:
            person.delete(chance)
        case 9:
            person.pry(chance, other)
        case 10 | 11:
            person.list(chance)
        case 12 if pool is not None:
            break_off(pool, person.memory.owner, chance)
        case _:
            person.search(chance, other)


OF_NO_USER = (
    "applied_migrations",
    "cp_served_home",
    "cp_revoked_tokens",
    "cp_settings",
    "cp_tokens",
    "wb_upkeep",
)
"""Tables that hold nothing that anybody wrote; the last is the workers' alone to read."""


def rows_without_user(url):
    """Rows that a session sees that names nobody, of any guarded table that its role may read."""
    with psycopg.connect(url, autocommit=True) as conn:
        tables = conn.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind = 'r' AND has_table_privilege(oid, 'SELECT')"
        )
        names = [name for (name,) in tables.fetchall() if name not in OF_NO_USER]
        return {
            name: count
            for name in names
            if (count := conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
        }
