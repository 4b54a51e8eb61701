"""Docs as rows in Postgres: which come, move and leave, with their words, and what is counted.

Never ranks and never filters; callers hold the transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from commonplace.core.clock import micros
from commonplace.core.errors import Invalid
from commonplace.core.text import count_words, names_time, storable, text_hash
from commonplace.core.values import Put
from commonplace.index.scoring.stems import tokens
from commonplace.index.sqlite.docs import SECOND_BITS, Facet
from commonplace_server.index.packing import drop_packed, drop_stray_packed
from commonplace_server.index.transaction import Longs, OwnerTransaction
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from commonplace.core.values import AreCurrent, Change, Doc

TAG_SIGN = "\x1f"
"""With it a tag begins among the words; no word holds it."""

DROPS_KEPT = 10_000

_SECOND_US = 1_000_000
_LONGEST_TERM = 200
# A ref of memory names journal and kind before its own id.
_JOURNAL = "memory"


class _FiledDoc(NamedTuple):
    id: int
    facet: int
    at_us: int
    blank: bool
    text_hash: str
    session_id: int
    dated: str
    tags: list[str]
    stamp: str
    covers: list[str]
    written_us: int | None
    turn: int

    def is_like(self, row: Mapping[str, Any]) -> bool:
        """Whether nothing of it is another in this row."""
        return all(row[name] == getattr(self, name) for name in self._fields if name != "id")


class _Moved(NamedTuple):
    """Vectors that stay with a doc whose id or kind changed.

    Args:
        bound: Which vectors.
        row: The doc, with its new id.
    """

    bound: dict[str, Any]
    row: dict[str, Any]


class _Plan(Struct):
    """What one call changes.

    Args:
        lost: Refs of which words may be missing, though the index seems to have them.
        rows: Docs to put.
        facets: Those that the rows name, by number.
        gone: Ids of docs that leave.
        freed: Ids that no doc has any more.
        wordless: Ids whose words go.
        vectorless: Ids whose vectors go.
        moved: Vectors that stay with docs of another id.
        said: Rows whose words are put, with their docs.
        docs: How many docs there are more.
        speaking: How many that are not blank.
    """

    lost: frozenset[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    facets: dict[int, Facet] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    wordless: list[int] = field(default_factory=list)
    vectorless: list[int] = field(default_factory=list)
    moved: list[_Moved] = field(default_factory=list)
    said: list[tuple[dict[str, Any], Doc]] = field(default_factory=list)
    docs: int = 0
    speaking: int = 0


def apply_changes(
    tx: OwnerTransaction,
    changes: Sequence[Change],
    *,
    are_current: AreCurrent | None = None,
    lost: frozenset[str] = frozenset(),
) -> bool:
    """File docs in place of any with their refs, and remove what is dropped.

    Vectors stay while the text does.

    Args:
        tx: The transaction of the user.
        changes: Puts and drops; the last of a ref counts.
        are_current: See `AppliesCurrent`; None where all hold.
        lost: See `AppliesCurrent`.

    Returns:
        Whether all of them held.

    Raises:
        Invalid: More entries lie in one second than it has numbers for.
    """
    with tx.pipelined():
        return ask_changes(tx, changes, are_current=are_current, lost=lost)()


def ask_changes(
    tx: OwnerTransaction,
    changes: Sequence[Change],
    *,
    are_current: AreCurrent | None = None,
    lost: frozenset[str] = frozenset(),
) -> Callable[[], bool]:
    """Ask what `apply_changes` has to know; the function returned reads the answers, and files.

    In a pipeline others are asked before it is called, so that filing for many waits once.
    """
    last = {
        storable(each.doc.ref if isinstance(each, Put) else each.ref): each.doc
        if isinstance(each, Put)
        else None
        for each in changes
    }
    lows = sorted({_low(micros(doc.at)) for doc in last.values() if doc is not None})
    tx.plan_for_all()
    changed = tx.query("next_change")
    found = tx.query("find_docs", refs=Texts(last))
    numbers = tx.query("last_of_seconds", lows=lows)
    # Whatever else files for this user waits for us by now, and files what changed before.
    read_current = None if are_current is None else tx.check(are_current)

    def file() -> bool:
        holds = [True] * len(last) if read_current is None else read_current()
        current = {ref: doc for (ref, doc), is_so in zip(last.items(), holds, strict=True) if is_so}
        ((change, packed),) = changed.fetchall()
        held = {row[0]: _FiledDoc(*row[1:]) for row in found.fetchall()}
        plan = _planned(current, held, lost)
        _number(plan, dict(numbers.fetchall()))
        for row, doc in plan.said:
            row["words"] = _words(doc)
        _write(tx, plan, change, packed)
        return all(holds)

    return file


def _planned(
    last: Mapping[str, Doc | None], held: Mapping[str, _FiledDoc], lost: frozenset[str]
) -> _Plan:
    plan = _Plan(lost=lost)
    for ref, doc in last.items():
        before = held.get(ref)
        if before is not None:
            plan.docs -= 1
            plan.speaking -= not before.blank
        if doc is not None:
            _put(plan, ref, doc, before)
        elif before is not None:
            for ids in (plan.gone, plan.freed, plan.wordless, plan.vectorless):
                ids.append(before.id)
    return plan


def _put(plan: _Plan, ref: str, doc: Doc, before: _FiledDoc | None) -> None:
    headings = tuple(storable(heading) for heading in doc.headings)
    journal, scope = storable(doc.journal), storable(doc.scope)
    facet = Facet(journal, scope, storable(doc.kind), storable(doc.author), headings)
    row = _row_of(ref, doc, facet_id(facet))
    plan.docs += 1
    plan.speaking += not row["blank"]
    # A doc that two processes file is put by the first.
    if before is not None and before.is_like(row) and ref not in plan.lost:
        return
    plan.facets[row["facet"]] = facet
    plan.rows.append(row)
    if before is None:
        plan.said.append((row, doc))
        return
    same_text = before.text_hash == row["text_hash"]
    if before.at_us // _SECOND_US == row["at_us"] // _SECOND_US:
        row["id"] = before.id
    else:
        plan.freed.append(before.id)
    if not same_text:
        plan.vectorless.append(before.id)
    elif "id" not in row or before.facet != row["facet"]:
        ref_id = ref_id_of(ref, facet.kind)
        bound = {"before": before.id, "kind": facet.kind, "ref_id": ref_id}
        plan.moved.append(_Moved(bound, row))
    same_words = same_text and (before.dated, before.tags) == (row["dated"], row["tags"])
    if not same_words or "id" not in row or ref in plan.lost:
        plan.wordless.append(before.id)
        plan.said.append((row, doc))


def _number(plan: _Plan, last: dict[int, int | None]) -> None:
    """Give each new row the next free number of its second.

    Args:
        plan: Its rows get an `id`.
        last: The highest number of each second, None where there is none.

    Raises:
        Invalid: More entries lie in one second than it has numbers for.
    """
    for row in plan.rows:
        if "id" in row:
            continue
        low = _low(row["at_us"])
        highest = last[low]
        number = low if highest is None else highest + 1
        if number >= low + (1 << SECOND_BITS):
            raise Invalid(
                f"More than {1 << SECOND_BITS} entries lie in one second.",
                hint="Give entries times of their own.",
            )
        row["id"] = last[low] = number


def _low(at_us: int) -> int:
    """The lowest number of a second."""
    return at_us // _SECOND_US << SECOND_BITS


def _write(tx: OwnerTransaction, plan: _Plan, change: int, packed: Sequence[int]) -> None:
    if plan.wordless:
        drop_packed(tx, packed, plan.wordless)  # which looks whose words are rows
        tx.query("drop_words", ids=plan.wordless)
    if plan.vectorless:
        tx.query("drop_vectors", ids=plan.vectorless)
    if plan.gone:
        tx.query("drop_docs", ids=plan.gone)
    if plan.freed:
        tx.query("note_dropped", ids=sorted({*plan.freed}), change=change)
        tx.query("prune_dropped", change=change, kept=DROPS_KEPT)
    tx.each("move_vectors", [{**each.bound, "id": each.row["id"]} for each in plan.moved])
    if plan.moved:
        tx.query("note_moved")
    again = [row for row in plan.rows if row["ref"] in plan.lost]
    if again:
        _drop_strays(tx, plan, again, packed)
    counted = {"more": plan.docs, "more_speaking": plan.speaking}
    if plan.rows:
        rows = [{name: x for name, x in row.items() if name != "words"} for row in plan.rows]
        facets = [{"id": number, **facet._asdict()} for number, facet in plan.facets.items()]
        tx.query(
            "put_docs",
            rows=json.dumps(rows, ensure_ascii=False),
            facets=json.dumps(facets, ensure_ascii=False),
            change=change,
            **_words_bound([row for row, _ in plan.said]),
            **counted,
        )
    elif plan.docs or plan.speaking:
        tx.query("count_change", **counted)
    if again:
        tx.query("recount_docs")
        tx.query("recount_vectors")


def _drop_strays(
    tx: OwnerTransaction,
    plan: _Plan,
    again: Sequence[Mapping[str, Any]],
    packed: Sequence[int],
) -> None:
    """Words and vectors of docs that were lost, in the way of those that take their place."""
    lows = sorted({_low(row["at_us"]) for row in again})
    tx.query("drop_stray_words", lows=lows)
    drop_stray_packed(tx, packed, [(low, low + (1 << SECOND_BITS)) for low in lows])
    kinds = [plan.facets[row["facet"]].kind for row in again]
    given = {
        "kinds": kinds,
        "ref_ids": [ref_id_of(row["ref"], kind) for row, kind in zip(again, kinds, strict=True)],
        "docs": [row["id"] for row in again],
        "hashes": [row["text_hash"] for row in again],
    }
    tx.query("drop_vectors_of_lost", **given)
    tx.query("drop_vectors_of_others", **given)


def _words_bound(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The words of docs as `put_docs` takes them."""
    words = sorted(
        (term, row["id"], body, dated)
        for row in rows
        for term, (body, dated) in row["words"].items()
    )
    terms, docs, bodies, dates = zip(*words, strict=True) if words else ((), (), (), ())
    return {
        "terms": "\n".join(terms),
        "docs": Longs(docs),
        "bodies": Longs(bodies),
        "dates": Longs(dates),
    }


def _row_of(ref: str, doc: Doc, facet: int) -> dict[str, Any]:
    return {
        "ref": ref,
        "facet": facet,
        "at_us": micros(doc.at),
        "blank": not doc.text.strip(),
        "text_hash": text_hash(doc.said),
        "stamp": storable(doc.stamp),
        "tags": [storable(tag) for tag in doc.tags],
        "text": storable(doc.text),
        "session": storable(doc.session),
        "session_id": _hashed(storable(doc.session)) if doc.session else 0,
        "length": count_words(doc.text),
        "timed": int(names_time(doc.text)),
        "dated": storable(doc.dated),
        "covers": [storable(covered) for covered in doc.covers],
        "written_us": None if doc.written is None else micros(doc.written),
        "turn": doc.turn,
    }


def facet_id(facet: Facet) -> int:
    """The number of a facet; it follows from what lies on it alike."""
    *names, headings = facet
    return _hashed("\0".join([*names, *headings]))


def _hashed(name: str) -> int:
    """A number for a name, above 0: two names of one user never share it."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1 or 1


def ref_id_of(ref: str, kind: str) -> str:
    """The id of a record of memory; of any other entry its whole ref, after a colon."""
    own = ref.removeprefix(f"{_JOURNAL}:{kind}/")
    return f":{ref}" if own == ref or own.startswith(":") else own


def term_of(token: str) -> str:
    """A word as the tables hold it: a very long one is cut and hashed."""
    if len(token) <= _LONGEST_TERM and "\n" not in token:
        return token
    first = token[:_LONGEST_TERM].partition("\n")[0]
    return f"{first}\x1e{text_hash(token)}"


def terms_of(tags: Iterable[str]) -> list[str]:
    """Tags as the words that stand for them."""
    return [term_of(TAG_SIGN + storable(tag)) for tag in tags]


def _words(doc: Doc) -> dict[str, tuple[int, int]]:
    body, dated = (Counter(map(term_of, each)) for each in tokens([doc.said, doc.dated]))
    words = {term: (body[term], dated[term]) for term in {**body, **dated}}
    return words | dict.fromkeys(terms_of(doc.tags), (0, 0))
