-- Runs and Sites' feeds of commands. Named parameters; read committed.

-- name: lock_site
-- One writer of a Site's feed at a time, to the end of the transaction: sequences become visible in order.
SELECT pg_advisory_xact_lock(hashtextextended('execution.feed:' || %(site)s, 0));

-- name: ensure_feed
INSERT INTO execution.feeds (site) VALUES (%(site)s) ON CONFLICT (site) DO NOTHING;

-- name: save_run
-- The row of a Run as its latest version has it.
INSERT INTO execution.runs
       (run_id, project_id, site, created_by, state, reason, created_at, changed_at, deadline, revision, awaits, released,
        binding_id, generation, management_generation, item_id, waits_since, cleanup_refusal)
VALUES (%(run_id)s, %(project_id)s, %(site)s, %(created_by)s, %(state)s, %(reason)s, %(created_at)s, %(changed_at)s,
        %(deadline)s, %(revision)s, %(awaits)s, %(released)s, %(binding_id)s, %(generation)s, %(management_generation)s,
        %(item_id)s, %(waits_since)s, %(cleanup_refusal)s)
    ON CONFLICT (run_id) DO UPDATE
   SET state = EXCLUDED.state, reason = EXCLUDED.reason, changed_at = EXCLUDED.changed_at,
       revision = EXCLUDED.revision, awaits = EXCLUDED.awaits, released = EXCLUDED.released,
       item_id = EXCLUDED.item_id, waits_since = EXCLUDED.waits_since, cleanup_refusal = EXCLUDED.cleanup_refusal;

-- name: add_past_item
-- The released item of an attempt that another one follows.
INSERT INTO execution.past_items (item_id, run_id, revision)
VALUES (%(item_id)s, %(run_id)s, %(revision)s);

-- name: feeds
SELECT f.site, f.feed, f.head FROM execution.feeds f ORDER BY f.site;

-- name: renew_feed
-- Another identity of the Site's history, after a restore.
UPDATE execution.feeds SET feed = %(feed)s WHERE site = %(site)s RETURNING site, feed, head;

-- name: append_commands
-- The next commands of the Site in the order they are asked for, under lock_site.
WITH head AS (
    UPDATE execution.feeds SET head = head + cardinality(%(command_ids)s::uuid[]) WHERE site = %(site)s
    RETURNING head - cardinality(%(command_ids)s::uuid[]) AS before
)
INSERT INTO execution.commands (site, sequence, command_id, run_id, attempt_id, action, issued_at)
SELECT %(site)s, head.before + c.place, c.command_id, %(run_id)s, %(attempt_id)s, c.action, %(now)s
  FROM head, unnest(%(command_ids)s::uuid[], %(actions)s::jsonb[]) WITH ORDINALITY AS c (command_id, action, place);

-- name: acknowledge_commands
-- These commands are listed as unacknowledged no longer; the first time stands.
UPDATE execution.commands SET acknowledged_at = %(now)s
 WHERE command_id = ANY (%(command_ids)s::uuid[]) AND acknowledged_at IS NULL;

-- name: notify_site
-- Wakes the parked polls of a Site once this commits.
SELECT pg_notify('pharos_execution', %(site)s);

-- name: command_page
-- The Site's feed above a sequence, one more than asked for; one row without a command when there is none.
SELECT f.feed, f.head, c.sequence, c.command_id, c.issued_at, c.action, c.attempt_id, c.run_id
  FROM execution.feeds f
  LEFT JOIN LATERAL (
       SELECT m.sequence, m.command_id, m.issued_at, m.action::text AS action, m.attempt_id, m.run_id
         FROM execution.commands m
        WHERE m.site = f.site AND m.sequence > %(after)s
          AND (NOT %(unacknowledged)s OR m.acknowledged_at IS NULL)
        ORDER BY m.sequence
        LIMIT %(limit)s + 1
       ) c ON true
 WHERE f.site = %(site)s
 ORDER BY c.sequence;

-- name: run_of_command
SELECT c.run_id FROM execution.commands c WHERE c.site = %(site)s AND c.command_id = %(command_id)s;

-- name: page_of_project
-- Runs of a Project after one of them, newest first, one more than asked for.
SELECT r.run_id
  FROM execution.runs r
 WHERE r.project_id = %(project_id)s
   AND (%(after)s::uuid IS NULL
        OR (r.created_at, r.run_id) < (SELECT a.created_at, a.run_id FROM execution.runs a
                                        WHERE a.run_id = %(after)s AND a.project_id = %(project_id)s))
 ORDER BY r.created_at DESC, r.run_id DESC
 LIMIT %(limit)s + 1;
