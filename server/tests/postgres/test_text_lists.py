"""Lists of texts reach Postgres as they are."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server.tests.postgres.test_database import opened

from commonplace.core.errors import Invalid
from commonplace_server.postgres.text_lists import Texts

QUIET = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@pytest.fixture
def pool(database):
    made = opened(database.app_url, most=1)
    yield made
    made.close()


@QUIET
@given(texts=st.lists(TEXT))
def test_they_come_back_as_they_were_sent(pool, texts):
    """None, one, many; quotes, braces, commas and signs of any script among them."""
    with pool.owner_transaction("ann") as conn:
        (found,) = conn.execute("SELECT %s", [Texts(texts)]).fetchone()
    assert found == texts


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_is_no_text_is_refused(pool, text):
    """And the connection is whole after it."""
    with pytest.raises(Invalid), pool.owner_transaction("ann") as conn:
        conn.execute("SELECT %s", [Texts(["x", text])])
    with pool.owner_transaction("ann") as conn:
        assert conn.execute("SELECT %s", [Texts(("x",))]).fetchone() == (["x"],)
