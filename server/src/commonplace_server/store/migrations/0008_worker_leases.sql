-- A worker leases the timelines of all users and counts their summaries; whose they are, and their zones, are the
-- users' own.

REVOKE UPDATE ON cp_timelines FROM commonplace_worker;
GRANT UPDATE (leased_until, leased_by, seq) ON cp_timelines TO commonplace_worker;
