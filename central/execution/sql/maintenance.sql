-- What Sites say of new work (S15). Named parameters; read committed.

-- name: statement
SELECT statement_id, observed_at, draining, until, reason FROM execution.maintenance WHERE site = %(site)s;

-- name: lock_statement
-- One statement of a Site at a time, to the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('execution.maintenance:' || %(site)s, 0));

-- name: save_statement
INSERT INTO execution.maintenance (site, statement_id, observed_at, draining, until, reason, stated_at)
VALUES (%(site)s, %(statement_id)s, %(observed_at)s, %(draining)s, %(until)s, %(reason)s, %(now)s)
    ON CONFLICT (site) DO UPDATE
   SET statement_id = EXCLUDED.statement_id, observed_at = EXCLUDED.observed_at, draining = EXCLUDED.draining,
       until = EXCLUDED.until, reason = EXCLUDED.reason, stated_at = EXCLUDED.stated_at;
