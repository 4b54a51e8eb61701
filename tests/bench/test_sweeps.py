"""What the figures of following stand on: a user served from files, and a process that comes back."""

from __future__ import annotations

import pytest
from bench.sweeps import Sizes, sweep_figures


@pytest.mark.long
def test_what_follows_a_served_user_is_measured_beside_the_answers(tmp_path):
    """Both figures have a limit, a tenth of what the answers cost."""
    told = [*sweep_figures(Sizes(entries=30, pauses_s=(0.0, 0.0)), tmp_path)]
    assert [figure.rule for figure in told] == 2 * ["0.1 x the answers"]
    assert all(0 < figure.measured.median < 10 * (figure.limit or 0) for figure in told)
