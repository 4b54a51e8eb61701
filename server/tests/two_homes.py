"""What the tests of journals in one database share that several servers use."""

from __future__ import annotations

from commonplace.config.settings import read_settings


def settings_in(folder, **given):
    """The settings of a machine whose home is there."""
    flags = {"home": str(folder), "timezone": "UTC", "toolsets": "all", **given}
    return read_settings(flags=flags, environ={}, cwd=folder, home=None)


def ask(app, tool, **given):
    """A tool's answer, as a door gets it."""
    tools = {each.name: each for toolset in app.toolsets() for each in toolset.tools}
    return tools[tool].call(given)


def traces(admin, text):
    """The tables that hold a text."""
    tables = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return [
        table
        for (table,) in tables
        if admin.execute(
            f"SELECT 1 FROM {table} AS each WHERE each::text ILIKE %s LIMIT 1", (f"%{text}%",)
        ).fetchone()
    ]
