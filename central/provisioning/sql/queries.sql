-- Allocations and reports. Named parameters, arrays in PostgreSQL's text form; read committed. Every write stands under
-- lock_site.

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

-- name: add_versions
-- Snapshots come as one text, a line each: canonical JSON has no line end of its own.
INSERT INTO provisioning.aggregate_versions (kind, id, version, command_id, snapshot, digest, recorded_at)
SELECT 'allocation', u.id, u.version, u.command_id, u.snapshot::json, decode(u.digest, 'hex'), %(now)s
  FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(commands)s::uuid[],
              string_to_array(%(snapshots)s::text, E'\n'), %(digests)s::text[])
       AS u (id, version, command_id, snapshot, digest);

-- name: add_heads
-- Heads of first versions.
INSERT INTO provisioning.aggregate_heads (kind, id, version, digest)
SELECT 'allocation', u.id, u.version, decode(u.digest, 'hex')
  FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(digests)s::text[]) AS u (id, version, digest);

-- name: move_heads
-- Compare-and-set (F09): a head moves only from the version that was decided upon. OFFSET 0: as in `saved`.
UPDATE provisioning.aggregate_heads h
   SET version = u.version, digest = decode(u.digest, 'hex')
  FROM (
       SELECT 'allocation' AS kind, r.*
         FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(digests)s::text[]) AS r (id, version, digest)
       OFFSET 0
       ) AS u
 WHERE h.kind = u.kind AND h.id = u.id AND h.version = u.version - 1;

-- name: add_sightings
-- Sightings of first versions.
INSERT INTO provisioning.allocation_sightings
       (allocation_id, site, project_id, version, revision, standing, content, seen_at)
SELECT u.id, %(site)s, u.project_id, u.version, u.revision, u.standing::"char", u.content, %(observed_at)s
  FROM unnest(%(ids)s::uuid[], %(projects)s::uuid[], %(versions)s::integer[], %(revisions)s::integer[],
              %(standings)s::text[], %(contents)s::uuid[])
       AS u (id, project_id, version, revision, standing, content);

-- name: move_sightings
-- Every change moves the sighting with it, from the version and a time before the one that was decided upon (P8).
UPDATE provisioning.allocation_sightings s
   SET project_id = u.project_id, version = u.version, revision = u.revision, standing = u.standing::"char",
       content = u.content, seen_at = %(observed_at)s
  FROM unnest(%(ids)s::uuid[], %(projects)s::uuid[], %(versions)s::integer[], %(revisions)s::integer[],
              %(standings)s::text[], %(contents)s::uuid[])
       AS u (id, project_id, version, revision, standing, content)
 WHERE s.allocation_id = u.id AND s.version = u.version - 1 AND s.site = %(site)s AND s.seen_at < %(observed_at)s;

-- name: touch_sightings
-- Seen again by decision: the time, and what was said this time.
UPDATE provisioning.allocation_sightings s
   SET seen_at = %(observed_at)s, content = u.content
  FROM unnest(%(ids)s::uuid[], %(versions)s::integer[], %(contents)s::uuid[]) AS u (id, version, content)
 WHERE s.allocation_id = u.id AND s.version = u.version AND s.site = %(site)s AND s.seen_at < %(observed_at)s;

-- name: add_receipts
INSERT INTO provisioning.receipts (command_id, request_digest, kind, id, version, answer, recorded_at)
SELECT u.command_id, decode(u.request_digest, 'hex'), 'allocation', u.id, u.version, decode(u.answer, 'hex'),
       %(now)s
  FROM unnest(%(commands)s::uuid[], %(request_digests)s::text[], %(ids)s::uuid[], %(versions)s::integer[],
              %(answers)s::text[]) AS u (command_id, request_digest, id, version, answer);
