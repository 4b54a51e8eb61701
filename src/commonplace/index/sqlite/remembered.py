"""What the searches of one opening of an index remember.

Needs numpy, so that what does not search never makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.index.sqlite.doc_table import DocTables
from commonplace.index.sqlite.words import DocFrequencies

if TYPE_CHECKING:
    from commonplace.index.sqlite.docs import Queries


class Remembered:
    """The doc table, and in how many docs words stand."""

    def __init__(self, sql: Queries) -> None:
        self.doc_tables = DocTables(sql)
        self.frequencies = DocFrequencies()
