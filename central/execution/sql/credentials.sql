-- Credentials of the Git host that were asked for (S2). Named parameters; read committed.

-- name: remember
INSERT INTO execution.credentials (credential_id, run_id, purpose, asked_at)
VALUES (%(credential_id)s, %(run_id)s, %(purpose)s, %(now)s)
    ON CONFLICT (credential_id) DO UPDATE SET asked_at = EXCLUDED.asked_at, revoked_at = NULL;

-- name: outstanding
SELECT credential_id, run_id, purpose
  FROM execution.credentials
 WHERE revoked_at IS NULL AND (%(after)s::uuid IS NULL OR credential_id > %(after)s)
 ORDER BY credential_id
 LIMIT %(limit)s;

-- name: revoked
UPDATE execution.credentials SET revoked_at = %(now)s WHERE credential_id = %(credential_id)s AND revoked_at IS NULL;
