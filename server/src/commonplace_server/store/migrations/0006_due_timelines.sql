-- A worker rolls up the timelines of any users. It is shown of all which periods are due, and never a text; as
-- a user it writes that user's summaries, and nothing that anybody wrote.

-- leased_by: the worker that has the user's timeline in hand, until leased_until; without one it rests until
-- then, so that others come first.
ALTER TABLE cp_timelines ADD leased_until timestamptz, ADD leased_by uuid;
CREATE INDEX cp_due_across ON cp_due (period_end);

CREATE POLICY due ON cp_due FOR SELECT TO commonplace_worker USING (true);
CREATE POLICY lease ON cp_timelines TO commonplace_worker USING (true) WITH CHECK (true);
GRANT UPDATE ON cp_timelines TO commonplace_worker;
GRANT INSERT, UPDATE, DELETE ON cp_series, cp_rollups, cp_rollup_sources, cp_due, cp_gone, cp_fed, cp_fed_marks
    TO commonplace_worker;

CREATE POLICY summaries_added ON cp_entries AS RESTRICTIVE FOR INSERT TO commonplace_worker
    WITH CHECK (journal = 'timeline' AND level > 0);
CREATE POLICY summaries_altered ON cp_entries AS RESTRICTIVE FOR UPDATE TO commonplace_worker
    USING (journal = 'timeline' AND level > 0) WITH CHECK (journal = 'timeline' AND level > 0);
CREATE POLICY summaries_dropped ON cp_entries AS RESTRICTIVE FOR DELETE TO commonplace_worker
    USING (journal = 'timeline' AND level > 0);
GRANT INSERT, UPDATE, DELETE ON cp_entries TO commonplace_worker;

-- The line of a summary, which the table writes as the role that makes the change, and what leaves with it.
GRANT INSERT, UPDATE (changes, at, gone) ON wb_outbox TO commonplace_worker;
CREATE POLICY summaries ON wb_outbox AS RESTRICTIVE FOR INSERT TO commonplace_worker
    WITH CHECK (kind = 'timeline');
CREATE POLICY summaries ON wb_times AS RESTRICTIVE FOR DELETE TO commonplace_worker USING (kind = 'timeline');
CREATE POLICY summaries ON wb_former AS RESTRICTIVE FOR DELETE TO commonplace_worker USING (kind = 'timeline');
GRANT DELETE ON wb_times, wb_former TO commonplace_worker;
