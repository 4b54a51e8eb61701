"""What the index reads of a memory that changed."""

from __future__ import annotations

from commonplace.core.values import Since
from commonplace.journals.memory.journal import MemoryJournal
from commonplace.journals.memory.records import RecordDraft
from commonplace.journals.memory.source import MemorySource

DRAFT = RecordDraft(kind="gratitude", fields={"text": "harbour"})


def _steps(journal, source):
    """How many steps SQLite takes to tell of one more record."""
    mark = source.mark()
    journal.save(DRAFT)
    steps = 0

    def count():
        nonlocal steps
        steps += 1
        return 0

    with journal.database.reading() as conn:
        conn.set_progress_handler(count, 1)
        changes = list(source.scan(Since(mark=mark, stamps=lambda _prefix: {})))
        conn.set_progress_handler(None, 0)
    assert len(changes) == 1
    return steps


def test_what_came_since_takes_the_same_steps_however_much_is_kept(tmp_path):
    """It is found by its number; by its user, all of the user's would be read and sorted."""
    journal = MemoryJournal(tmp_path, owner="ann")
    source = MemorySource(journal, journal.database)
    journal.save(DRAFT)
    few = _steps(journal, source)
    for _ in range(100):
        journal.save(DRAFT)
    assert 0 < _steps(journal, source) < 1.5 * few
    journal.close()
