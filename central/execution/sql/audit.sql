-- Who used which permission (E7). Named parameters; read committed.

-- name: note
-- The first use, and the last one to the minute: who looks every second writes once a minute.
INSERT INTO execution.audit (subject, permission, actor, first_at, last_at)
VALUES (%(subject)s, %(permission)s, %(actor)s, %(now)s, %(now)s)
    ON CONFLICT (subject, permission, actor) DO UPDATE SET last_at = EXCLUDED.last_at
 WHERE audit.last_at <= EXCLUDED.last_at - interval '1 minute';

-- name: uses
SELECT permission, actor, first_at, last_at
  FROM execution.audit
 WHERE subject = %(subject)s
 ORDER BY first_at, permission, actor;
