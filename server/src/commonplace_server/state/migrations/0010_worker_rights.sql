-- What no statement of the worker does it may not do: found by logging all that one asks, and what triggers do for it.
REVOKE SELECT, INSERT, UPDATE, DELETE ON wb_leases, wb_marks FROM commonplace_worker;
REVOKE UPDATE ON wb_dropped, wb_facets, wb_packed, wb_words FROM commonplace_worker;
REVOKE DELETE ON wb_index, wb_models, cp_fed_marks FROM commonplace_worker;
REVOKE UPDATE, DELETE ON cp_series FROM commonplace_worker;
REVOKE INSERT, DELETE ON wb_upkeep FROM commonplace_worker;
