-- name: is_writable
-- Whether this server takes writes: a standby in recovery and a read-only default both say no (F03).
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS writable;
