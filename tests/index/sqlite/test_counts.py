"""Counts that are kept while nothing moves are those that would be counted now."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st
from tests.sampled import sampled

from commonplace.core.values import Drop, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import HashingEncoder, a_doc, encode_all

ENCODER = HashingEncoder()
ACTS = st.lists(
    st.tuples(st.sampled_from(["put", "blank", "later", "drop", "encode"]), st.integers(0, 3)),
    max_size=12,
)


def act(index, what, n):
    """Change one of four docs, or encode all that wait."""
    if what == "drop":
        index.apply([Drop(f"n:{n}")])
    elif what == "encode":
        encode_all(index, ENCODER)
    else:
        text = "" if what == "blank" else f"words {n}"
        doc = a_doc(f"n:{n}", text, minutes=60 * (what == "later"), journal=f"notes{n % 2}")
        index.apply([Put(doc)])


@sampled(10, 30, acts=ACTS)
def test_what_was_counted_before_follows_every_change(acts):
    """The one that changes it, another that is open, and one that counts for the first time."""
    with TemporaryDirectory() as folder, ExitStack() as held:

        def opened():
            index = SqliteIndex(lambda _: Path(folder))
            held.callback(index.close)
            return index.of_owner("me")

        mine, theirs = opened(), opened()
        for what, n in acts:
            act(mine, what, n)
            fresh = opened()
            for identity in (ENCODER.identity, ""):
                assert (
                    mine.count_by_kind(identity)
                    == theirs.count_by_kind(identity)
                    == fresh.count_by_kind(identity)
                )
                assert mine.counts(identity).pending == fresh.counts(identity).pending
                assert mine.unencoded(identity, 9) == fresh.unencoded(identity, 9)
                assert sum(x.pending for x in fresh.count_by_kind(identity)) == (
                    theirs.counts(identity).pending
                )
