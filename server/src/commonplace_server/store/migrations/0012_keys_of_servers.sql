-- What idempotency keys stand for is asked by servers alone: no statement of the worker reads it.

REVOKE SELECT ON cp_keys FROM commonplace_worker;
