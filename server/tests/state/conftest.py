"""A server's connections to its database."""

import pytest

from commonplace_server.postgres.database import Postgres
from commonplace_server.wiring.schema import check_database


@pytest.fixture
def pool(database):
    made = Postgres(database.app_url, check=check_database)
    yield made
    made.close()
