"""Where the docs of an index were written."""

from __future__ import annotations

from commonplace.core.ports import ListsScopes
from commonplace.core.values import Drop, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import a_doc


def test_only_places_of_docs_that_are_held(tmp_path):
    """Each once; a place whose last doc left is none any more."""
    whole = SqliteIndex(lambda _: tmp_path)
    index = whole.of_owner("me")
    assert isinstance(index, ListsScopes)
    assert index.scopes() == []
    index.apply(
        [
            Put(a_doc("n:1", "wood", scope="/srv/b")),
            Put(a_doc("n:2", "stone", scope="/srv/b")),
            Put(a_doc("n:3", "glass", scope="/srv/a")),
        ]
    )
    assert index.scopes() == [("notes", "/srv/a"), ("notes", "/srv/b")]
    index.apply([Drop("n:3")])
    assert index.scopes() == [("notes", "/srv/b")]
    whole.close()
