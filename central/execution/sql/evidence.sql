-- What an operator is shown of Runs (O1). Named parameters; read committed.

-- name: runs
SELECT r.run_id, r.project_id, r.site, r.created_by, r.state, r.reason, r.created_at, r.changed_at, r.deadline,
       r.revision, r.published, r.released, r.waits_since, r.cleanup_refusal
  FROM execution.runs r
 WHERE (%(site)s::text IS NULL OR r.site = %(site)s)
   AND (%(project_id)s::uuid IS NULL OR r.project_id = %(project_id)s)
   AND (NOT %(live)s OR r.state IN ('accepted', 'waiting', 'running', 'cancelling'))
 ORDER BY r.created_at DESC, r.run_id DESC
 LIMIT %(limit)s;

-- name: page_of_site
-- A Site's Runs before one of them, newest first.
SELECT r.run_id, r.project_id, r.site, r.created_by, r.state, r.reason, r.created_at, r.changed_at, r.deadline,
       r.revision, r.published, r.released, r.waits_since, r.cleanup_refusal
  FROM execution.runs r
 WHERE r.site = %(site)s
   AND (%(after)s::uuid IS NULL
        OR (r.created_at, r.run_id) < (SELECT a.created_at, a.run_id FROM execution.runs a WHERE a.run_id = %(after)s))
 ORDER BY r.created_at DESC, r.run_id DESC
 LIMIT %(limit)s;

-- name: run
SELECT r.run_id, r.project_id, r.site, r.created_by, r.state, r.reason, r.created_at, r.changed_at, r.deadline,
       r.revision, r.published, r.released, r.waits_since, r.cleanup_refusal
  FROM execution.runs r
 WHERE r.run_id = %(run_id)s;

-- name: commands_of_run
SELECT c.sequence, c.command_id, c.issued_at, c.acknowledged_at
  FROM execution.commands c
 WHERE c.run_id = %(run_id)s
 ORDER BY c.sequence;

-- name: credentials_of_run
SELECT count(*) AS asked, count(*) FILTER (WHERE revoked_at IS NULL) AS outstanding
  FROM execution.credentials WHERE run_id = %(run_id)s;

-- name: consent_of
SELECT consented_at, refreshed_at, ended_at FROM execution.consents WHERE party = %(party)s;

-- name: silence_of
SELECT since, seen, what FROM execution.git_silences WHERE purpose = %(purpose)s AND host = %(host)s;
