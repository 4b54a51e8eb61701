-- The log of calls, which holds no text, is cleared of what is old of all users at once, also of one of whom nothing
-- else was ever kept: of each user by themselves it cost a transaction a user and day.
CREATE INDEX wb_tool_invocation_log_old ON wb_tool_invocation_log (created_at);
CREATE POLICY old_seen ON wb_tool_invocation_log FOR SELECT TO commonplace_worker
    USING (nullif(current_setting('app.user_id', true), '') IS NULL AND created_at < now() - interval '30 days');
CREATE POLICY old_dropped ON wb_tool_invocation_log FOR DELETE TO commonplace_worker
    USING (nullif(current_setting('app.user_id', true), '') IS NULL AND created_at < now() - interval '30 days');
