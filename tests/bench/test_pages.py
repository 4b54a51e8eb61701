"""The bench of the pages, over a small home."""

from __future__ import annotations

import pytest
from bench.pages import Sizes, page_figures


# Of a year, whose pages are tried in tests/doors/web.
@pytest.mark.whole
def test_each_page_is_measured(tmp_path):
    """Beside a bare answer of the same server."""
    figures = list(page_figures(Sizes(entries=400, timeline=365, times=1), tmp_path))
    assert [each.name for each in figures][:2] == [
        "first page, 400 entries",
        "page: home, 400 entries",
    ]
    assert figures[-1].name == "page: timeline by day, 400 entries, summaries due"
    assert all(each.measured.median > 0 for each in figures)
