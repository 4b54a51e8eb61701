"""What an entry takes in the database is what the page `Operating it` reckons with."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from bench.corpus import make_lines
from server.tests.memory_postgres_world import PACKING_IS_DUE

from commonplace_testing import HashingEncoder, ReadySlot

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")
ENTRIES, WORDS = 1_000, 24

SIZES = """
SELECT relname, pg_total_relation_size(c.oid)::float FROM pg_class AS c
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


class WideEncoder(HashingEncoder):
    """Vectors as wide as MiniLM's."""

    identity = HashingEncoder.identity.replace(":64:", ":384:")
    dimensions = 384

    def encode_passages(self, texts):
        return np.tile(super().encode_passages(texts), 6) / np.float32(np.sqrt(6))


@pytest.fixture
def slot():
    """The encoder of all servers."""
    return ReadySlot(WideEncoder())


def on_page(row):
    """The bytes of an entry of a chronicle that a row of the page names."""
    (found,) = re.findall(rf"^\| {row} \| ([\d.,]+)", PAGE, re.MULTILINE)
    return float(found.replace(",", ""))


@pytest.mark.long
def test_an_entry_takes_what_the_page_says(servers, worker, database):
    """Of 1,000 entries of 24 words, packed: each part to a tenth, whatever else the machine does."""
    add_entry = servers("one").toolset("chronicle").tool("add_entry")
    words = (word for line in make_lines(seed=1) for word in line.split())
    for _ in range(ENTRIES):
        add_entry.call({"message": " ".join(islice(words, WORDS))})
    worker.run_once()
    database.run(PACKING_IS_DUE)
    worker.run_once()
    # These alone: without names it locks what all databases of the run share as well.
    database.run("VACUUM FULL cp_entries, wb_outbox, wb_packed, wb_embeddings, wb_docs")
    of_each = {name: size / ENTRIES for name, size in database.rows(SIZES)}
    measured = {
        "the entry itself": of_each["cp_entries"],
        "its line in the outbox": of_each["wb_outbox"],
        "the index: words, packed": of_each["wb_packed"],
        "the index: vector, halved": of_each["wb_embeddings"],
        "the index: the rest": of_each["wb_docs"],
    }
    told = {row: on_page(row) for row in measured}
    assert measured == pytest.approx(told, rel=0.1)
    assert on_page("together") * 1000 == pytest.approx(sum(measured.values()), rel=0.1)
