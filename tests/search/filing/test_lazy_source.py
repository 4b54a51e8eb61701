"""A source that is not there yet is followed once it is."""

from __future__ import annotations

from commonplace.core.values import Drop, Since
from commonplace.search.filing.lazy_source import LazySource

SINCE = Since(mark=None, stamps=lambda _: {"notebook:a": "1"})


class Book:
    """A source with one thing to say."""

    name = "notebook"
    cheap_mark = True
    exact_mark = True

    def mark(self) -> str:
        return "1"

    def scan(self, since):
        yield Drop("notebook:a")


def test_it_is_opened_once_it_is_there():
    """Before that nothing is opened and nothing changes; afterwards it alone is asked."""
    there, looks, opened = [], [], []

    def is_there():
        looks.append(1)
        return bool(there)

    def find():
        opened.append(1)
        return Book()

    source = LazySource("notebook", is_there=is_there, find=find)
    assert source.cheap_mark
    assert (source.name, source.mark(), list(source.scan(SINCE)), opened) == (
        "notebook",
        "",
        [],
        [],
    )
    there.append(1)
    assert (source.mark(), list(source.scan(SINCE))) == ("1", [Drop("notebook:a")])
    assert (opened, len(looks)) == ([1], 3)
