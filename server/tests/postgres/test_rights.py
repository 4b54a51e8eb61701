"""What each role may do with each table, and with whose rows: all of it stands here."""

from __future__ import annotations

import pytest

ALL = "arwd"
"""As psql has it: a for inserting, r reading, w altering, d deleting, m tidying up."""

# By table: what the application may, and the worker; a column in brackets is all that may be altered.
RIGHTS = {
    "applied_migrations": ("r", "r"),
    # What users wrote: the worker reads it, and of the timeline it writes summaries.
    **dict.fromkeys(("wb_message", "wb_journal", "wb_todo"), (ALL, "rm")),
    **dict.fromkeys(("wb_gratitude", "wb_preferences"), (ALL, "rm")),
    "cp_entries": (ALL, "arwdm"),
    **dict.fromkeys(("cp_overviews", "cp_moves", "cp_transcripts"), (ALL, "rm")),
    "cp_keys": (ALL, "m"),
    **dict.fromkeys(("cp_rollups", "cp_rollup_sources", "cp_due"), (ALL, "arwdm")),
    **dict.fromkeys(("cp_fed", "cp_gone"), (ALL, "arwdm")),
    "cp_fed_marks": (ALL, "arwm"),
    "cp_series": (ALL, "arm"),
    "cp_expired": (ALL, "rm"),
    "cp_timelines": (ALL, "arm w(leased_by leased_until seq)"),
    "cp_kept": (ALL, "rm w(changes kept_up_at leased_by leased_until unseen_since upkeep_at)"),
    "wb_former": (ALL, "rdm"),
    "wb_times": (ALL, "rd"),
    "wb_tool_invocation_log": (ALL, "rd"),
    # What waits, and the index.
    "wb_outbox": (
        ALL,
        "arm w(anew at changes due encoder erase gone leased_by leased_until stale words_due)",
    ),
    **dict.fromkeys(("wb_docs", "wb_embeddings"), (ALL, "arwdm")),
    **dict.fromkeys(("wb_index", "wb_models"), (ALL, "arwm")),
    **dict.fromkeys(("wb_words", "wb_packed", "wb_dropped", "wb_facets"), (ALL, "ardm")),
    **dict.fromkeys(("wb_leases", "wb_marks"), (ALL, "m")),
    "wb_upkeep": ("", "rwm"),
    # What servers know of their clients and of each other.
    "cp_rates": ("ar w(at tokens)", ""),
    "cp_revoked_tokens": ("ar", ""),
    "cp_served_home": ("ar w(home place)", ""),
    "cp_session_reads": ("ar w(version)", ""),
    "cp_sessions": ("ard w(used_at)", ""),
    "cp_settings": ("ar w(at place value)", "ar w(at place value)"),
    "cp_sign_ins": ("ard w(facts until user_id version)", ""),
    "cp_spent": ("ard w(tokens)", ""),
    "cp_tokens": ("ar w(used_at)", ""),
    "cp_visitors": ("ard w(said used_at version wiped)", ""),
}

OWN = "NULLIFcurrent_setting'app.user_id', true, ''"
OF_NOBODY = f"{OWN} IS NULL"
"""At work on no user."""

# By table: the policies beside that of a user's own rows, with roles, command, and what they ask.
OF_ALL_USERS = {
    "cp_due": ["worker SELECT true"],
    "cp_timelines": ["worker ALL true", f"worker INSERT only user_id = {OWN}"],
    "wb_outbox": ["worker ALL true", "worker INSERT only kind = 'timeline'"],
    "wb_upkeep": ["worker ALL true"],
    "wb_models": ["owner SELECT true"],
    **{
        table: [f"worker {command} {OF_NOBODY}" for command in ("SELECT", "UPDATE")]
        for table in ("wb_index", "cp_kept")
    },
    "cp_revoked_tokens": ["app ALL true"],
    "cp_served_home": ["app ALL true"],
    "cp_sign_ins": ["app ALL true"],
    "cp_tokens": ["app ALL true"],
    "cp_settings": ["app,worker ALL true"],
    "wb_tool_invocation_log": [
        f"worker {command} {OF_NOBODY} AND created_at < now - '30 days'::interval"
        for command in ("DELETE", "SELECT")
    ],
    # Within a user's own rows.
    "cp_entries": [
        f"worker {command} only journal = 'timeline' AND level > 0"
        for command in ("DELETE", "INSERT", "UPDATE")
    ],
    "wb_former": ["worker DELETE only kind = 'timeline'"],
    "wb_times": ["worker DELETE only kind = 'timeline'"],
}
WITHOUT_OWN = {
    *("wb_upkeep", "cp_revoked_tokens", "cp_served_home", "cp_sign_ins", "cp_tokens"),
    *("cp_settings", "applied_migrations"),
}
"""Tables of no user, or whose user is not known before the row was found."""

TABLES = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
"""
GRANTED = """
SELECT c.relname, a.grantee::regrole::text, a.privilege_type FROM pg_class AS c, aclexplode(c.relacl) AS a
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND a.grantee <> c.relowner
"""
GRANTED_IN = """
SELECT c.relname, a.grantee::regrole::text, string_agg(t.attname, ' ' ORDER BY t.attname)
FROM pg_attribute AS t JOIN pg_class AS c ON c.oid = t.attrelid, aclexplode(t.attacl) AS a
WHERE c.relnamespace = 'public'::regnamespace AND a.privilege_type = 'UPDATE' GROUP BY 1, 2
"""
POLICIES = """
SELECT tablename, permissive = 'RESTRICTIVE', roles::text[], cmd, coalesce(qual, with_check), with_check
FROM pg_policies ORDER BY 1, 4
"""
GUARDED = f"{TABLES} AND relrowsecurity AND relforcerowsecurity"
LETTERS = {"INSERT": "a", "SELECT": "r", "UPDATE": "w", "DELETE": "d", "MAINTAIN": "m"}
PLAIN = str.maketrans("", "", "()")


def rights(database):
    """What each role may do with each table, as above; to tidy up is a right since 17."""
    found = {
        name: {"commonplace_app": "", "commonplace_worker": ""} for (name,) in database.rows(TABLES)
    }
    given = {(name, role, LETTERS[what]) for name, role, what in database.rows(GRANTED)}
    for letter in "arwdm":
        for name, role, _ in (x for x in given if x[2] == letter):
            found[name][role] += letter
    for name, role, columns in database.rows(GRANTED_IN):
        found[name][role] += f" w({columns})"
    return {name: (x["commonplace_app"], x["commonplace_worker"]) for name, x in found.items()}


def without_m(may):
    """Rights as a Postgres has them that does not know the one to tidy up."""
    letters, blank, columns = may.partition(" ")
    return f"{letters.replace('m', '')}{blank}{columns}"


@pytest.fixture
def tidies(postgres_url, administrator):
    """Whether this Postgres knows the right to tidy up."""
    return administrator.info.server_version >= 170_000


def test_a_role_may_do_just_what_stands_here(database, tidies):
    """With each table there is, column by column where not all may be altered."""
    expected = {
        name: tuple(x if tidies else without_m(x) for x in may) for name, may in RIGHTS.items()
    }
    assert rights(database) == expected


def test_each_table_shows_a_user_their_own_rows_alone(database):
    """Whoever asks, but for what stands here; the owner of the tables too."""
    others, own = {}, set()
    short = {"commonplace_app": "app", "commonplace_worker": "worker", "postgres": "owner"}
    for name, restricts, roles, command, asked, written in database.rows(POLICIES):
        plain = asked.replace("::text", "").translate(PLAIN)
        if roles == ["public"]:
            assert (restricts, command, written) == (False, "ALL", asked), name
            assert plain == f"user_id = {OWN}", name
            own.add(name)
            continue
        who = ",".join(short.get(x, "owner") for x in roles)
        others.setdefault(name, []).append(f"{who} {command} {'only ' * restricts}{plain}")
    assert others == OF_ALL_USERS
    assert own == RIGHTS.keys() - WITHOUT_OWN
    assert {name for (name,) in database.rows(GUARDED)} == RIGHTS.keys() - {"applied_migrations"}
