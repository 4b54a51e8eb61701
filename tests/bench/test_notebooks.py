"""The bench of the notebook: what it builds is a notebook as the product writes one."""

from __future__ import annotations

from datetime import UTC, datetime

from bench.notebooks import RARE, RARE_ENTRIES, write_notebook

from commonplace.journals.notebook.journal import NotebookJournal


def test_a_notebook_of_the_bench_is_the_products_own(tmp_path):
    """Every entry is counted, the rare section has its twelve; two runs make the same texts."""
    heads = []
    for name in ("one", "two"):
        write_notebook(tmp_path / name, 600)
        notes = NotebookJournal(
            tmp_path / name,
            ledger=tmp_path / f"{name}.db",
            owner="me",
            zone=UTC,
            clock=lambda: datetime(2026, 11, 22, tzinfo=UTC),
        )
        assert notes.ledger.catch_up() == notes.repo.head().commit
        assert notes.ledger.total() == 600
        assert len(notes.list_entries(RARE, length=99)) == RARE_ENTRIES
        for section in notes.list_sections()[:5]:
            read = notes.read_section(section)
            text = (tmp_path / name / f"{section}.md").read_text()
            assert text.endswith(f"<!-- entry count: {read.entry_count} -->\n")
            assert read.overview.startswith("# ")
        heads.append(notes.repo.head().commit)
        notes.close()
    assert heads[0] == heads[1]
