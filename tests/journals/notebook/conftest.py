"""Two people with clones of one notebook, at their beginning or after what both have."""

from __future__ import annotations

import pytest
from tests.journals.notebook.team import Team, having


@pytest.fixture
def teams(tmp_path):
    """Makes the team: with `(section, text, overview)` of entries that both have already."""
    made = []

    def make(*entries):
        made.append(Team(tmp_path, after=having(*entries) if entries else None))
        return made[-1]

    yield make
    for team in made:
        team.close()


@pytest.fixture
def team(teams):
    """Ann and Bob, each with an empty clone."""
    return teams()
