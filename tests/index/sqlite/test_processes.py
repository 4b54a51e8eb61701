"""Many processes on one index, and processes that are killed."""

import subprocess
import sys

import pytest
from tests.patience import PATIENCE_S, until

from commonplace.core.values import Put
from commonplace_testing import a_doc

WRITING = """
import sys
from pathlib import Path
from commonplace.core.values import Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import HashingEncoder, a_doc, encode_all

root, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
mine = SqliteIndex(lambda owner: root / owner).of_owner("me")
for i in range(count):
    mine.apply([Put(a_doc(f"n:{name}:{i}", f"harbour {name} {i}", minutes=i))])
    if i % 25 == 24:
        encode_all(mine, HashingEncoder())
"""

BATCHING = """
import sys
from pathlib import Path
from commonplace.core.values import Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import a_doc

mine = SqliteIndex(lambda owner: Path(sys.argv[1]) / owner).of_owner("me")
for batch in range(10_000):
    docs = [a_doc(f"n:{batch}:{i}", f"harbour {i}", minutes=i) for i in range(40)]
    mine.apply([Put(doc) for doc in docs], source="s", mark=str(batch))
    print(batch, flush=True)
"""


def _start(script, *args):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, args)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("processes", "puts"), [(3, 50), pytest.param(8, 100, marks=pytest.mark.long)]
)
def test_processes_at_once_lose_and_double_nothing(opened, tmp_path, law, processes, puts):
    """Many puts of each on a new file, vectors included, while another searches."""
    writers = [_start(WRITING, tmp_path / "users", name, puts) for name in range(processes)]
    mine = opened().of_owner("me")

    def are_done():
        law.find(mine, "harbour")
        return all(writer.poll() is not None for writer in writers)

    until(are_done, "the writers to end")
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0] * processes
    stamps = mine.known().stamps("n:")
    assert set(stamps) == {f"n:{name}:{i}" for name in range(processes) for i in range(puts)}
    counts = mine.counts(law.encoder.identity)
    assert (counts.docs, counts.pending) == (processes * puts, 0)
    assert len(law.find(mine, "harbour", limit=1000)) == processes * puts
    assert mine.problems() == []


def test_a_killed_process_leaves_whole_batches(opened, tmp_path, law):
    """Killed in the middle of writing: all of a batch and its mark, or nothing of it."""
    for _ in range(2):
        writer = _start(BATCHING, tmp_path / "users")
        for _ in range(5):
            said = int(writer.stdout.readline())
        writer.kill()
        said = max([said, *(int(line) for line in writer.stdout.read().split())])
        writer.communicate()
        mine = opened().of_owner("me")
        mark = int(mine.known().marks.get("s"))
        # What was acknowledged is there; the batch in hand may be.
        assert mark >= said
        held = {ref.split(":")[1] for ref in mine.known().stamps("n:")}
        assert held >= {str(batch) for batch in range(mark + 1)}
        assert mine.counts("e").docs == 40 * len(held)
        assert mine.problems() == []


def test_another_process_is_seen_at_once(opened, tmp_path, law):
    """What another process has written is in the very next answer."""
    mine = law.filled(opened(), [a_doc("n:mine", "harbour")])
    assert set(law.find(mine, "harbour")) == {"n:mine"}
    writer = _start(WRITING, tmp_path / "users", "other", 25)
    writer.communicate(timeout=PATIENCE_S)
    assert len(law.find(mine, "harbour", limit=50)) == 26
    mine.apply([Put(a_doc("n:other:3", "wood"))])
    assert mine.counts(law.encoder.identity).pending == 1
