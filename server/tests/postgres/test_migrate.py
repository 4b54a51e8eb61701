"""The tables of a database are made and changed step by step, beside those who use them."""

import threading

import psycopg
import pytest
from server.tests.databases import SERIES
from tests.patience import PATIENCE_S, until

from commonplace.core.errors import Denied, Unavailable
from commonplace.db.migrate import Migration
from commonplace_server.postgres.database import Postgres
from commonplace_server.postgres.migrate import migrate_postgres, refuse_other_schema

WAITING = "SELECT 1 FROM pg_locks WHERE relation = 'wb_b'::regclass AND NOT granted"


def look(conn, name):
    refuse_other_schema(conn, name, SERIES)


@pytest.fixture
def two_tables(empty_database, postgres_template):
    """Gives the address of a database with tables a and b, and steps of which this is the next."""

    def made(sql):
        first = "CREATE TABLE wb_a (x int); CREATE TABLE wb_b (x int); CREATE SEQUENCE tries"
        steps = [Migration(1, "first", first), Migration(2, "more", sql)]
        migrate_postgres(empty_database.admin_url, {"own": steps[:1]})
        return empty_database.admin_url, {"own": steps}

    return made


class TestMigrate:
    def test_twice_is_once(self, empty_database):
        """The second time there is nothing to do."""
        assert migrate_postgres(empty_database.admin_url, SERIES)
        assert migrate_postgres(empty_database.admin_url, SERIES) == []

    def test_several_at_once(self, empty_database):
        """Each step is applied by one of them."""
        done = []
        threads = [
            threading.Thread(
                target=lambda: done.extend(migrate_postgres(empty_database.admin_url, SERIES))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == sorted(set(done))
        assert len(done) == sum(len(each) for each in SERIES.values())

    def test_a_table_that_a_backup_reads_is_not_waited_for(self, empty_database):
        """Every save would wait behind it; once the backup has ended it can be done."""
        first, *rest = SERIES["records"]
        migrate_postgres(empty_database.admin_url, {"records": [first]})
        with psycopg.connect(empty_database.admin_url) as backup:
            backup.execute("SELECT 1 FROM wb_outbox")
            with pytest.raises(Unavailable, match="records 0002 was not applied") as refused:
                migrate_postgres(empty_database.admin_url, SERIES, patience_s=0)
            who = f"the table wb_outbox in use by process {backup.info.backend_pid}"
            assert who in str(refused.value)
            assert "backup" in refused.value.hint
        done = migrate_postgres(empty_database.admin_url, {"records": [first, *rest]})
        assert len(done) == len(rest)

    def test_what_wants_its_tables_crosswise_goes_on(self, two_tables):
        """The step gives way, and is applied after it; neither is a deadlock's victim."""
        admin, series = two_tables("ALTER TABLE wb_a ADD n int; ALTER TABLE wb_b ADD n int")
        done = []
        step = threading.Thread(target=lambda: done.extend(migrate_postgres(admin, series)))
        with psycopg.connect(admin) as using, psycopg.connect(admin, autocommit=True) as looking:
            using.execute("SELECT 1 FROM wb_b")
            step.start()
            until(lambda: looking.execute(WAITING).fetchone(), "the step to wait for wb_b")
            using.execute("INSERT INTO wb_a VALUES (1)")
            assert done == []
        step.join(PATIENCE_S)
        assert done == ["own 0002 more"]

    def test_no_lock_waits_for_another_with_work_between(self, two_tables):
        """Else a server's wait for the first would be old when the second is asked for."""
        admin, series = two_tables(
            "ALTER TABLE wb_a ADD n int; CREATE TABLE wb_held AS SELECT relation::regclass::text"
            " FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock';"
            "ALTER TABLE wb_b ADD n int"
        )
        migrate_postgres(admin, series)
        with psycopg.connect(admin) as conn:
            held = {row[0] for row in conn.execute("SELECT relation FROM wb_held")}
        assert {"wb_a", "wb_b"} <= held

    @pytest.mark.parametrize("state", ["40P01", "40001", "55P03"])
    def test_a_step_that_gave_way_is_tried_again(self, two_tables, state):
        """A sequence, which no rollback turns back, counts the tries."""
        admin, series = two_tables(
            "DO $$ BEGIN IF nextval('tries') < 3 THEN"
            f" RAISE EXCEPTION USING ERRCODE = '{state}'; END IF; END $$"
        )
        assert migrate_postgres(admin, series) == ["own 0002 more"]
        with psycopg.connect(admin) as conn:
            assert conn.execute("SELECT last_value FROM tries").fetchone() == (3,)

    def test_what_is_not_migrated_or_newer_is_refused(self, empty_database, database):
        """Both say what to do."""
        pool = Postgres(empty_database.app_url, check=look)
        with pytest.raises(Unavailable) as missing, pool.owner_transaction("ann"):
            pass
        assert "migrate" in missing.value.hint
        pool.close()
        database.run(
            "INSERT INTO applied_migrations (series, number, name) VALUES ('records', 99, 'x')"
        )
        pool = Postgres(database.app_url, check=look)
        with pytest.raises(Unavailable, match="99"), pool.owner_transaction("ann"):
            pass
        with pytest.raises(Unavailable, match="99"):
            migrate_postgres(database.admin_url, SERIES)
        pool.close()

    @pytest.mark.usefixtures("postgres_template")  # the roles
    def test_a_table_that_another_role_made_is_not_written(self, empty_database):
        """What it would run, it would run as the administrator; a trigger on our own as well."""
        empty_database.run("GRANT CREATE ON SCHEMA public TO commonplace_app")
        table = "(series text, number integer, name text, at timestamptz DEFAULT now())"
        with psycopg.connect(empty_database.app_url) as conn:
            conn.execute(f"CREATE TABLE applied_migrations {table}")
        with pytest.raises(Denied, match="applied_migrations"):
            migrate_postgres(empty_database.admin_url, SERIES)
        empty_database.run("DROP TABLE applied_migrations")
        empty_database.run(f"CREATE TABLE applied_migrations {table}")
        empty_database.run(
            "CREATE TRIGGER t BEFORE UPDATE ON applied_migrations"
            " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"
        )
        with pytest.raises(Denied, match="applied_migrations"):
            migrate_postgres(empty_database.admin_url, SERIES)
        empty_database.run("DROP TABLE applied_migrations")
        assert migrate_postgres(empty_database.admin_url, SERIES)

    @pytest.mark.usefixtures("postgres_template")  # which makes the roles
    def test_the_application_cannot_migrate(self, empty_database):
        """Its role may not make tables."""
        with pytest.raises(Denied):
            migrate_postgres(empty_database.app_url, SERIES)
