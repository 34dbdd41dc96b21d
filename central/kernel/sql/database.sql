-- name: is_writable
-- Whether this server takes writes: a standby in recovery and a read-only default both say no (F03).
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS writable;

-- name: acts_as
-- Whether this login has a role's rights, its own or given to it; a superuser has all.
SELECT current_user::text AS login,
       coalesce((SELECT pg_has_role(current_user, r.oid, 'USAGE') FROM pg_roles r WHERE r.rolname = %(role)s),
                false) AS yes;
