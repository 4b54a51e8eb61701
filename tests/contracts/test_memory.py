"""Every store of memory keeps the laws of the contract."""

import pytest
from server.tests.memory_postgres_world import PostgresMemoryWorld
from tests.contracts.memory_correction_laws import CorrectionContract
from tests.contracts.memory_export_laws import ExportContract
from tests.contracts.memory_laws import MemoryContract
from tests.contracts.memory_table_laws import TablesContract
from tests.contracts.memory_todo_laws import TodosContract
from tests.memory_world import SqliteMemoryWorld


class TestSqliteMemory(
    MemoryContract, CorrectionContract, ExportContract, TablesContract, TodosContract
):
    """A file and an index for each user."""

    @pytest.fixture
    def world(self, tmp_path):
        made = SqliteMemoryWorld(tmp_path)
        yield made
        made.close()


class TestPostgresMemory(
    MemoryContract, CorrectionContract, ExportContract, TablesContract, TodosContract
):
    """One database for all users, under row level security, and a worker."""

    @pytest.fixture
    def world(self, tmp_path, database):
        made = PostgresMemoryWorld(database, tmp_path)
        yield made
        made.close()
