"""Fakes that work, and the laws every index and every journal keeps: for those who add one.

Never imported by the product itself.
"""

from commonplace_testing.fakes import (
    START,
    FrozenClock,
    HashingEncoder,
    OneSource,
    ReadySlot,
    a_doc,
    encode_all,
)
from commonplace_testing.index_laws import ALONE, LINES, TOGETHER, IndexContract, Seen, look
from commonplace_testing.journal_laws import JournalTrial, PagesContract, SourceContract

__all__ = [
    "ALONE",
    "LINES",
    "START",
    "TOGETHER",
    "FrozenClock",
    "HashingEncoder",
    "IndexContract",
    "JournalTrial",
    "OneSource",
    "PagesContract",
    "ReadySlot",
    "Seen",
    "SourceContract",
    "a_doc",
    "encode_all",
    "look",
]
