-- Which Runs a pass looks at, what is published and answered (P27, P29). Named parameters; read committed.

-- name: live
SELECT r.run_id FROM execution.runs r
 WHERE r.state IN ('accepted', 'waiting', 'running', 'cancelling')
   AND (%(after)s::uuid IS NULL OR r.run_id > %(after)s)
 ORDER BY r.run_id
 LIMIT %(limit)s;

-- name: past_deadline
SELECT r.run_id FROM execution.runs r
 WHERE r.state IN ('accepted', 'waiting', 'running') AND r.deadline <= %(now)s AND NOT r.awaits
 ORDER BY r.deadline
 LIMIT %(limit)s;

-- name: awaiting_output
SELECT r.run_id FROM execution.runs r
 WHERE r.awaits AND (%(after)s::uuid IS NULL OR r.run_id > %(after)s)
 ORDER BY r.run_id
 LIMIT %(limit)s;

-- name: unpublished
SELECT r.run_id, r.published FROM execution.runs r WHERE r.published < r.revision ORDER BY r.run_id LIMIT %(limit)s;

-- name: published
-- What was published at an earlier revision than the row's stays to be published.
UPDATE execution.runs r SET published = g.revision
  FROM unnest(%(run_ids)s::uuid[], %(revisions)s::integer[]) AS g (run_id, revision)
 WHERE r.run_id = g.run_id AND r.published < g.revision;

-- name: work
-- Every attempt of every Run as accepted work, in one snapshot; an attempt that another one follows is released.
SELECT COALESCE(r.item_id, r.run_id) AS item_id, r.project_id, r.created_by AS party_id, r.site, r.binding_id,
       r.generation, r.management_generation, r.deadline, r.revision, r.released
  FROM execution.runs r
 UNION ALL
SELECT p.item_id, r.project_id, r.created_by, r.site, r.binding_id, r.generation, r.management_generation, r.deadline,
       p.revision, true
  FROM execution.past_items p
  JOIN execution.runs r USING (run_id)
 ORDER BY item_id;

-- name: forget_inventories
DELETE FROM execution.inventories WHERE taken_at < %(before)s;

-- name: add_inventory
INSERT INTO execution.inventories (snapshot_id, taken_at) VALUES (%(snapshot_id)s, %(now)s);

-- name: add_items
INSERT INTO execution.inventory_items (snapshot_id, item_id, body)
SELECT %(snapshot_id)s, i.item_id, i.body FROM unnest(%(item_ids)s::uuid[], %(bodies)s::bytea[]) AS i (item_id, body);

-- name: inventory_known
SELECT EXISTS (SELECT FROM execution.inventories WHERE snapshot_id = %(snapshot_id)s) AS known;

-- name: inventory_page
SELECT i.item_id, i.body FROM execution.inventory_items i
 WHERE i.snapshot_id = %(snapshot_id)s AND (%(after)s::uuid IS NULL OR i.item_id > %(after)s)
 ORDER BY i.item_id
 LIMIT %(limit)s;
