-- Site grants. Named parameters; read committed.

-- name: lock_site
-- One issue at a time for a Site, to the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('site_grants:' || %(site)s, 0));

-- name: grants_of_site
SELECT grant_id, site, scopes, secret_digest, issued_at, expires_at, revoked_at, last_used_at
  FROM site_grants.grants
 WHERE site = %(site)s
 ORDER BY issued_at, grant_id;

-- name: all_grants
SELECT grant_id, site, scopes, secret_digest, issued_at, expires_at, revoked_at, last_used_at
  FROM site_grants.grants
 ORDER BY site, issued_at, grant_id;

-- name: grant_by_id
SELECT grant_id, site, scopes, secret_digest, issued_at, expires_at, revoked_at, last_used_at
  FROM site_grants.grants
 WHERE grant_id = %(grant_id)s;

-- name: insert_grant
INSERT INTO site_grants.grants (grant_id, site, scopes, secret_digest, issued_at, expires_at)
VALUES (%(grant_id)s, %(site)s, %(scopes)s, %(secret_digest)s, %(issued_at)s, %(expires_at)s);

-- name: revoke_grant
-- Once: a grant revoked before keeps its time.
UPDATE site_grants.grants SET revoked_at = %(now)s WHERE grant_id = %(grant_id)s AND revoked_at IS NULL;

-- name: touch_grant
-- Coarse, and never backwards: several processes may come at once.
UPDATE site_grants.grants
   SET last_used_at = %(now)s
 WHERE grant_id = %(grant_id)s AND (last_used_at IS NULL OR last_used_at <= %(now)s - %(resolution)s::interval);
