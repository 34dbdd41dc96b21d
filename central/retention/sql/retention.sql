-- name: recovery
-- The standing.
SELECT phase, epoch, owners, asked_at, held_until, alive_until, reason FROM retention.recovery;

-- name: take_recovery
-- The standing for this transaction alone.
SELECT phase, epoch, owners, asked_at, held_until, alive_until, reason FROM retention.recovery FOR UPDATE;

-- name: put_recovery
-- The new standing.
UPDATE retention.recovery
SET phase = %(phase)s, epoch = %(epoch)s, owners = %(owners)s::text[], asked_at = %(asked_at)s,
    held_until = %(held_until)s, alive_until = %(alive_until)s, reason = %(reason)s;

-- name: one_snapshot
-- What follows in this transaction is read as of one moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: required
-- The accounts a Site's required work names, each once.
SELECT DISTINCT project_id, party_id, binding_id, generation, management_generation
FROM retention.accepted_work WHERE state = 'required' AND site = %(site)s;

-- name: lock_items
-- Makes others who judge the same items wait, also of items that are not saved yet; in order, so that two who lock the
-- same ones do not wait for each other.
SELECT pg_advisory_xact_lock(k.key)
FROM (SELECT DISTINCT hashtextextended(t.owner || t.id::text, 8389754676633367137) AS key
      FROM unnest(%(owners)s::text[], %(ids)s::uuid[]) AS t (owner, id) ORDER BY 1) k;

-- name: some_items
-- What is held of some items.
SELECT w.owner, w.item_id, w.kind, w.revision, w.state, w.project_id, w.party_id, w.site, w.binding_id, w.generation,
       w.management_generation, w.deadline
FROM (SELECT DISTINCT owner, id FROM unnest(%(owners)s::text[], %(ids)s::uuid[]) AS t (owner, id)) t
JOIN retention.accepted_work w ON w.owner = t.owner AND w.item_id = t.id;

-- name: put_items
-- Items as they are held from now on.
INSERT INTO retention.accepted_work (owner, item_id, kind, revision, state, project_id, party_id, site, binding_id,
                                     generation, management_generation, deadline, told_at)
SELECT t.*, %(now)s
FROM unnest(%(owners)s::text[], %(ids)s::uuid[], %(kinds)s::text[], %(revisions)s::bigint[], %(states)s::text[],
            %(project_ids)s::uuid[], %(party_ids)s::uuid[], %(sites)s::text[], %(binding_ids)s::uuid[],
            %(generations)s::bigint[], %(management_generations)s::bigint[], %(deadlines)s::timestamptz[]) t
ON CONFLICT (owner, item_id) DO UPDATE
SET kind = excluded.kind, revision = excluded.revision, state = excluded.state, project_id = excluded.project_id,
    party_id = excluded.party_id, site = excluded.site, binding_id = excluded.binding_id,
    generation = excluded.generation, management_generation = excluded.management_generation,
    deadline = excluded.deadline, told_at = excluded.told_at;

-- name: work_of_party
-- Every item of a Party at a Site, required ones before released ones.
SELECT w.owner, w.item_id, w.kind, w.revision, w.state, w.project_id, w.party_id, w.site, w.binding_id, w.generation,
       w.management_generation, w.deadline, w.told_at
FROM retention.accepted_work w
WHERE w.site = %(site)s AND w.party_id = %(party_id)s
ORDER BY w.state = 'released', w.owner, w.item_id;
