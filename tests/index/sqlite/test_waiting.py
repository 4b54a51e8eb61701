"""Every doc is asked for its vector where it is not known what came since none waited."""

from commonplace.core.values import Put
from commonplace.index.sqlite import index
from commonplace_testing import HashingEncoder, a_doc, encode_all

ENCODER = HashingEncoder()


def _filed(mine, *numbers):
    mine.apply([Put(a_doc(f"n:{n}", f"harbour {n}")) for n in numbers])


def _waiting(mine):
    """The refs of those that wait, which are as many as are counted."""
    refs = {each.ref for each in mine.unencoded(ENCODER.identity, 99)}
    assert mine.counts(ENCODER.identity).pending == len(refs)
    return refs


def test_where_moves_were_trimmed_every_doc_is_asked(opened, monkeypatch):
    """Docs whose moves are kept no more wait like those whose moves are."""
    monkeypatch.setattr(index, "_MOVES_KEPT", 2)
    mine, theirs = opened().of_owner("me"), opened().of_owner("me")
    _filed(mine, 0)
    encode_all(mine, ENCODER)
    assert _waiting(theirs) == set()
    for n in range(1, 5):
        _filed(mine, n)
    assert _waiting(theirs) == {"n:1", "n:2", "n:3", "n:4"}


def test_in_an_index_made_in_place_of_another_every_doc_is_asked(opened, folder):
    """Its moves are numbered from 1 again, as were those seen in the former index."""
    mine, theirs = opened().of_owner("me"), opened().of_owner("me")
    _filed(mine, 0, 1, 2)
    encode_all(mine, ENCODER)
    assert _waiting(theirs) == set()
    for path in folder.iterdir():
        path.unlink()
    _filed(mine, 0)
    encode_all(mine, ENCODER)
    _filed(mine, 1, 2, 3, 4)
    assert _waiting(theirs) == {"n:1", "n:2", "n:3", "n:4"}
