-- Allocations and reports. Named parameters, arrays as `adapters/arrays.py` and `kernel/binary_arrays.py` make them; read
-- committed. Every write stands under lock_site.

-- name: lock_site
-- One writer of a Site's allocations at a time: a retry beside its first try waits, whatever the plan's order.
SELECT pg_advisory_xact_lock(hashtextextended('provisioning.site:' || %(site)s, 0));

-- name: renew
-- Renews every reported allocation that is still exactly as reported, and returns the positions renewed with their
-- revisions. Content and standing are compared in the very row that is updated, so a change that commits while this
-- waits is seen (performance: joins to other rows are not read again).
WITH reported AS (
    SELECT u.id, u.content, u.n
      FROM unnest(%(ids)s::uuid[], %(contents)s::uuid[]) WITH ORDINALITY AS u (id, content, n)
), renewed AS (
    UPDATE provisioning.allocation_sightings s
       SET seen_at = %(observed_at)s
      FROM reported r
     WHERE s.allocation_id = r.id AND s.content = r.content AND s.standing = 'l' AND s.site = %(site)s
       AND s.seen_at < %(observed_at)s
    RETURNING r.n, s.revision
)
SELECT coalesce(array_agg(n::integer), '{}') AS positions, coalesce(array_agg(revision), '{}') AS revisions
  FROM renewed;

-- name: receipts
-- The receipts of these commands; one row each, in their order.
SELECT r.request_digest, r.answer
  FROM unnest(%(commands)s::uuid[]) WITH ORDINALITY AS u (command_id, n)
  LEFT JOIN provisioning.receipts r ON r.command_id = u.command_id
 ORDER BY u.n;

-- name: report
-- A report's receipt.
SELECT digest, answers FROM provisioning.reports WHERE site = %(site)s AND report_id = %(report_id)s;

-- name: add_report
-- A report's receipt, once; forgets old ones of the Site.
WITH forgotten AS (
    DELETE FROM provisioning.reports WHERE site = %(site)s AND received_at < %(forget_before)s
)
INSERT INTO provisioning.reports (site, report_id, digest, answers, received_at)
VALUES (%(site)s, %(report_id)s, %(digest)s, %(answers)s, %(now)s)
ON CONFLICT ON CONSTRAINT reports_pkey DO NOTHING;

-- name: saved
-- Allocations with everything they are checked against (P7); one row each, in their order, all NULL where nothing is.
-- The version is the newest there is, whatever the head says. OFFSET 0 keeps the kind a column: as a constant the
-- planner takes it for a rare one until the tables are analysed, and reads all heads for each id.
SELECT h.version AS head_version, h.digest AS head_digest, v.version, v.digest, v.snapshot,
       s.site, s.project_id, s.version AS sighted_version, s.revision, s.standing::text AS standing, encode(uuid_send(s.content), 'hex') AS content,
       s.seen_at
  FROM (
       SELECT 'allocation' AS kind, r.id, r.n FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS r (id, n) OFFSET 0
       ) AS u
  LEFT JOIN provisioning.aggregate_heads h ON h.kind = u.kind AND h.id = u.id
  LEFT JOIN LATERAL (
       SELECT n.version, n.digest, n.snapshot::text AS snapshot
         FROM provisioning.aggregate_versions n
        WHERE n.kind = u.kind AND n.id = u.id
        ORDER BY n.version DESC LIMIT 1) AS v ON true
  LEFT JOIN provisioning.allocation_sightings s ON s.allocation_id = u.id
 ORDER BY u.n;

-- name: confirm
-- Which of these allocations stand at the very version they are known by, and were last seen before a time; positions from
-- 1. The head's digest names the snapshot, so that none need be read; that no later version exists is left to the primary
-- key, which a change would break.
WITH known AS MATERIALIZED (
    SELECT 'allocation' AS kind, u.*, substr(%(digests)b::bytea, 32 * u.n::integer - 31, 32) AS digest
      FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(projects)s::uuid[], %(revisions)s::integer[])
           WITH ORDINALITY AS u (id, version, project_id, revision, n)
)
SELECT coalesce(array_agg(k.n::integer), '{}') AS positions
  FROM known k
  JOIN provisioning.aggregate_heads h
    ON h.kind = k.kind AND h.id = k.id AND h.version = k.version AND h.digest = k.digest
  JOIN provisioning.allocation_sightings s
    ON s.allocation_id = k.id AND s.version = k.version AND s.project_id = k.project_id AND s.revision = k.revision
       AND s.standing = 'l' AND s.site = %(site)s AND s.seen_at < %(observed_at)s;

-- name: ids_of_project
SELECT allocation_id AS id FROM provisioning.allocation_sightings WHERE project_id = %(project_id)s ORDER BY 1;

-- name: projects_at_site
-- Which of some Projects have an allocation at a Site, retired ones included (P19).
SELECT DISTINCT project_id AS id FROM provisioning.allocation_sightings
 WHERE project_id = ANY (%(projects)s::uuid[]) AND site = %(site)s;

-- name: ids_after
-- The next allocations in id order.
SELECT id FROM provisioning.aggregate_heads
 WHERE kind = 'allocation' AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: add_changes
-- First versions: version, head, sighting and receipt of each. Snapshots and answers come as one text, a line each (JSON
-- without spaces has no line end of its own), digests as one row of bytes, 32 each, standings as one, a byte each. The
-- counts tell whether every one was written.
WITH change AS MATERIALIZED (
    SELECT u.*, substr(%(digests)b::bytea, 32 * n::integer - 31, 32) AS digest,
           substr(%(request_digests)b::bytea, 32 * n::integer - 31, 32) AS request_digest,
           chr(get_byte(%(standings)b::bytea, n::integer - 1))::"char" AS standing
      FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(commands)s::uuid[],
                  string_to_array(%(snapshots)s::text, E'\n'), %(projects)s::uuid[], %(revisions)s::integer[],
                  %(contents)s::uuid[], string_to_array(%(answers)s::text, E'\n'))
           WITH ORDINALITY AS u (id, version, command_id, snapshot, project_id, revision, content, answer, n)
), versions AS (
    INSERT INTO provisioning.aggregate_versions (kind, id, version, command_id, snapshot, digest, recorded_at)
    SELECT 'allocation', id, version, command_id, snapshot::json, digest, %(now)s FROM change
), heads AS (
    INSERT INTO provisioning.aggregate_heads (kind, id, version, digest)
    SELECT 'allocation', id, version, digest FROM change
    RETURNING id
), sightings AS (
    INSERT INTO provisioning.allocation_sightings
           (allocation_id, site, project_id, version, revision, standing, content, seen_at)
    SELECT id, %(site)s, project_id, version, revision, standing, content, %(observed_at)s FROM change
    RETURNING allocation_id
), receipts AS (
    INSERT INTO provisioning.receipts (command_id, request_digest, kind, id, version, answer, recorded_at)
    SELECT command_id, request_digest, 'allocation', id, version, convert_to(answer, 'UTF8'), %(now)s FROM change
)
SELECT (SELECT count(*) FROM heads) AS heads, (SELECT count(*) FROM sightings) AS sightings;

-- name: move_changes
-- Later versions, as `add_changes`. Compare-and-set (F09): head and sighting move only from the version that was decided
-- upon, the sighting also from a time before (P8). The kind is a column of `change` and no constant: as in `saved`.
WITH change AS MATERIALIZED (
    SELECT 'allocation' AS kind, u.*, substr(%(digests)b::bytea, 32 * n::integer - 31, 32) AS digest,
           substr(%(request_digests)b::bytea, 32 * n::integer - 31, 32) AS request_digest,
           chr(get_byte(%(standings)b::bytea, n::integer - 1))::"char" AS standing
      FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(commands)s::uuid[],
                  string_to_array(%(snapshots)s::text, E'\n'), %(projects)s::uuid[], %(revisions)s::integer[],
                  %(contents)s::uuid[], string_to_array(%(answers)s::text, E'\n'))
           WITH ORDINALITY AS u (id, version, command_id, snapshot, project_id, revision, content, answer, n)
), versions AS (
    INSERT INTO provisioning.aggregate_versions (kind, id, version, command_id, snapshot, digest, recorded_at)
    SELECT kind, id, version, command_id, snapshot::json, digest, %(now)s FROM change
), heads AS (
    UPDATE provisioning.aggregate_heads h SET version = u.version, digest = u.digest
      FROM change u
     WHERE h.kind = u.kind AND h.id = u.id AND h.version = u.version - 1
    RETURNING u.id
), sightings AS (
    UPDATE provisioning.allocation_sightings s
       SET project_id = u.project_id, version = u.version, revision = u.revision, standing = u.standing,
           content = u.content, seen_at = %(observed_at)s
      FROM change u
     WHERE s.allocation_id = u.id AND s.version = u.version - 1 AND s.site = %(site)s AND s.seen_at < %(observed_at)s
    RETURNING u.id
), receipts AS (
    INSERT INTO provisioning.receipts (command_id, request_digest, kind, id, version, answer, recorded_at)
    SELECT command_id, request_digest, kind, id, version, convert_to(answer, 'UTF8'), %(now)s FROM change
)
SELECT (SELECT count(*) FROM heads) AS heads, (SELECT count(*) FROM sightings) AS sightings;

-- name: touch_sightings
-- Seen again by decision: the time, and what was said this time.
UPDATE provisioning.allocation_sightings s
   SET seen_at = %(observed_at)s, content = u.content
  FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(contents)s::uuid[]) AS u (id, version, content)
 WHERE s.allocation_id = u.id AND s.version = u.version AND s.site = %(site)s AND s.seen_at < %(observed_at)s;
