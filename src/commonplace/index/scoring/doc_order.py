"""How a doc table takes in what came, moved and left, and the order of docs of one instant. Pure.

Never reads a database: what only a database knows is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from commonplace.index.scoring.doc_table import COLUMNS, doc_table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from commonplace.index.scoring.doc_table import DocTable, Ids

    TurnsOf: TypeAlias = Callable[[Sequence[int]], Mapping[int, tuple[int, str]]]


def updated_table(table: DocTable, moved: Ids, fresh: Ids, turns_of: TurnsOf) -> DocTable:
    """A doc table without the docs that came, changed or left, and with those there now.

    fresh: (columns, n), in any order.
    turns_of: The turn and the ref of some ids, which decide the order of docs of one instant.
    """
    gone = table.places_of(moved)
    stay = np.ones(len(table), dtype=np.bool_)
    stay[gone[gone >= 0]] = False
    kept = np.stack([np.asarray(getattr(table, name), dtype=np.int64) for name in COLUMNS])
    kept = kept[:, stay]
    fresh = fresh[:, np.argsort(fresh[1], kind="stable")]
    tied = np.isin(kept[1], fresh[1])
    if tied.any() or len(np.unique(fresh[1])) < fresh.shape[1]:
        return ordered_table(np.concatenate([kept, fresh], axis=1), turns_of)
    places = np.searchsorted(kept[1], fresh[1])
    return doc_table_of(np.insert(kept, places, fresh, axis=1))


def ordered_table(columns: Ids, turns_of: TurnsOf) -> DocTable:
    """The doc table of some docs, by (time, turn, ref); as in `updated_table`."""
    return doc_table_of(columns[:, _order(columns, turns_of)])


def _order(columns: Ids, turns_of: TurnsOf) -> Ids:
    ids, at_us = columns[0], columns[1]
    order = np.lexsort((ids, at_us))
    times = at_us[order]
    same = times[1:] == times[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    spots = np.flatnonzero(tied)
    turns = turns_of(ids[order[spots]].tolist())
    order[spots] = sorted(
        order[spots].tolist(), key=lambda i: (int(at_us[i]), *turns.get(int(ids[i]), (0, "")))
    )
    return order
