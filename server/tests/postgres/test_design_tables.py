"""The tables of memory, as the application finds them that the design was written for."""

from __future__ import annotations

import psycopg
import pytest


@pytest.mark.design("002-13", "002-16", "002-17", "002-19")
def test_the_tables_have_the_designs_columns(database):
    """Vectors of pgvector by user, kind, ref and model; preferences with English as the default."""
    with psycopg.connect(database.admin_url) as conn:
        columns = {
            (table, column): (kind, default)
            for table, column, kind, default in conn.execute(
                "SELECT table_name, column_name, udt_name, column_default"
                " FROM information_schema.columns"
                " WHERE table_name IN ('wb_embeddings', 'wb_preferences')"
            )
        }
        indexed = conn.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'wb_embeddings'"
        ).fetchall()
    kept = {name for table, name in columns if table == "wb_embeddings"}
    assert kept >= {"id", "user_id", "kind", "ref_id", "vector", "model_tag", "created_at"}
    assert columns["wb_embeddings", "vector"][0] == "vector"
    assert any("(user_id, kind, ref_id" in row[0] for row in indexed)
    assert columns["wb_preferences", "language"][1].startswith("'en'")
    assert columns["wb_preferences", "flags"][1].startswith("'{}'")
    assert columns["wb_preferences", "religion"][1] is None
