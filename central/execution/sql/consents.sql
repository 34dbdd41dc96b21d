-- Members' offline consents (E5). Named parameters; read committed.

-- name: lock_party
-- One refresh of a member's consent at a time, to the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('execution.consent:' || %(party)s, 0));

-- name: consent
SELECT sealed, consented_at, refreshed_at, ended_at, code_digest FROM execution.consents WHERE party = %(party)s;

-- name: standing
-- Whether a member's consent was given and not ended.
SELECT EXISTS (SELECT FROM execution.consents WHERE party = %(party)s AND ended_at IS NULL) AS stands;

-- name: save_consent
INSERT INTO execution.consents (party, sealed, consented_at, refreshed_at, ended_at, code_digest)
VALUES (%(party)s, %(sealed)s, %(consented_at)s, %(refreshed_at)s, %(ended_at)s, %(code_digest)s)
    ON CONFLICT (party) DO UPDATE
   SET sealed = EXCLUDED.sealed, consented_at = EXCLUDED.consented_at, refreshed_at = EXCLUDED.refreshed_at,
       ended_at = EXCLUDED.ended_at, code_digest = EXCLUDED.code_digest;
