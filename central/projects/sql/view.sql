-- name: scope
-- One scope as it stands.
SELECT scope, phase, epoch, position, checked_at, held_until, reason, refused_position
FROM projects.scopes WHERE scope = %(scope)s;

-- name: scopes
-- Every scope as it stands.
SELECT scope, phase, epoch, position, checked_at, held_until, reason, refused_position
FROM projects.scopes ORDER BY scope;

-- name: share_scope
-- Lets other messages in and keeps loads and repairs out until this transaction ends.
SELECT epoch FROM projects.scopes WHERE scope = %(scope)s FOR SHARE;

-- name: take_scope
-- The scope for this transaction alone.
SELECT scope, phase, epoch, position, checked_at, held_until, reason, refused_position
FROM projects.scopes WHERE scope = %(scope)s FOR UPDATE;

-- name: put_scope
-- The scope's new state.
UPDATE projects.scopes
SET phase = %(phase)s, epoch = %(epoch)s, position = %(position)s, checked_at = %(checked_at)s,
    held_until = %(held_until)s, reason = %(reason)s, refused_position = %(refused_position)s
WHERE scope = %(scope)s;

-- name: lock_items
-- Makes other messages about the same things wait, also about those that are not viewed yet; in order, so that two who
-- lock the same ones do not wait for each other.
SELECT pg_advisory_xact_lock(k.key)
FROM (SELECT DISTINCT hashtextextended(%(scope)s || id::text, 7305808869232650613) AS key
      FROM unnest(%(ids)s::uuid[]) id ORDER BY 1) k;

-- name: some_items
-- What is viewed of some things.
SELECT id, item, told_at, by_message, epoch FROM projects.items
WHERE scope = %(scope)s AND id = ANY (%(ids)s::uuid[]);

-- name: items
-- What is viewed of the whole scope.
SELECT id, item, told_at, by_message, epoch FROM projects.items WHERE scope = %(scope)s ORDER BY id;

-- name: manifest
-- Count and fingerprint of the scope, as Beto computes them.
SELECT count(*) AS count,
       encode(sha256(coalesce(string_agg(convert_to(item, 'UTF8') || '\x0a'::bytea, ''::bytea ORDER BY id), ''::bytea)),
              'hex') AS fingerprint
FROM projects.items WHERE scope = %(scope)s;

-- name: put_items
-- Items as they were told.
INSERT INTO projects.items (scope, id, item, told_at, by_message, epoch)
SELECT %(scope)s, t.id, t.item, t.told_at, t.by_message, %(epoch)s
FROM unnest(%(ids)s::uuid[], %(items)s::text[], %(told_ats)s::timestamptz[], %(by_message)s::boolean[])
    AS t (id, item, told_at, by_message)
ON CONFLICT (scope, id) DO UPDATE
SET item = excluded.item, told_at = excluded.told_at, by_message = excluded.by_message, epoch = excluded.epoch;

-- name: drop_items
-- Items Beto does not have.
DELETE FROM projects.items WHERE scope = %(scope)s AND id = ANY (%(ids)s::uuid[]);

-- name: drop_project_bindings
-- What derives from Projects that are about to be replaced.
DELETE FROM projects.project_bindings WHERE project_id = ANY (%(ids)s::uuid[]);

-- name: put_project_bindings
-- Provider Projects of Projects.
INSERT INTO projects.project_bindings (project_id, provider, instance, ref)
SELECT DISTINCT * FROM unnest(%(project_ids)s::uuid[], %(providers)s::text[], %(instances)s::text[], %(refs)s::text[]);

-- name: drop_party_bindings
-- What derives from Parties that are about to be replaced.
DELETE FROM projects.party_bindings WHERE party_id = ANY (%(ids)s::uuid[]);

-- name: put_party_bindings
-- Provider bindings of Parties.
INSERT INTO projects.party_bindings (party_id, binding_id, revision, provider, instance, subject, established)
SELECT * FROM unnest(%(party_ids)s::uuid[], %(binding_ids)s::uuid[], %(revisions)s::bigint[], %(providers)s::text[],
                     %(instances)s::text[], %(subjects)s::text[], %(established)s::boolean[]);

-- name: memberships
-- Every membership of some Projects, tombstones included.
SELECT project_id, party_id, generation, binding_id, binding_revision, present
FROM projects.memberships WHERE project_id = ANY (%(ids)s::uuid[]) ORDER BY project_id, party_id;

-- name: put_memberships
-- Memberships that changed, with their generations.
INSERT INTO projects.memberships (project_id, party_id, generation, binding_id, binding_revision, present)
SELECT * FROM unnest(%(project_ids)s::uuid[], %(party_ids)s::uuid[], %(generations)s::bigint[],
                     %(binding_ids)s::uuid[], %(binding_revisions)s::bigint[], %(present)s::boolean[])
ON CONFLICT (project_id, party_id) DO UPDATE
SET generation = excluded.generation, binding_id = excluded.binding_id,
    binding_revision = excluded.binding_revision, present = excluded.present;

-- name: holders
-- The Projects that hold each provider Project.
SELECT ref, project_id FROM projects.project_bindings
WHERE provider = %(provider)s AND instance = %(instance)s AND ref = ANY (%(refs)s::text[]);

-- name: bindings_of_username
-- Every binding at the Site that names the username, and others under the same id, which would be a conflict.
SELECT DISTINCT b.party_id, b.binding_id, b.revision, b.instance, b.subject, b.established
FROM projects.party_bindings named
JOIN projects.party_bindings b ON b.binding_id = named.binding_id
WHERE named.provider = 'site' AND named.instance = %(site)s AND named.subject = %(username)s;

-- name: bindings_of_party
-- Every binding of the Party at the Site, and others under the same id, which would be a conflict.
SELECT DISTINCT b.party_id, b.binding_id, b.revision, b.instance, b.subject, b.established
FROM projects.party_bindings named
JOIN projects.party_bindings b ON b.binding_id = named.binding_id
WHERE named.provider = 'site' AND named.instance = %(site)s AND named.party_id = %(party_id)s;

-- name: one_snapshot
-- What follows in this transaction is read as of one moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: projects_with_authority
-- Some Projects and the authority over each.
SELECT p.id AS project_id, p.item AS project, a.item AS authority
FROM projects.items p LEFT JOIN projects.items a ON a.scope = 'authorities' AND a.id = p.id
WHERE p.scope = 'projects' AND p.id = ANY (%(ids)s::uuid[]);

-- name: membership_counts
-- How many memberships some Projects have, tombstones included.
SELECT project_id, count(*) AS members FROM projects.memberships
WHERE project_id = ANY (%(ids)s::uuid[]) GROUP BY project_id;

-- name: usernames_of_parties
-- Every username some Parties have at the Site. Like the next two, it is linear in the list whatever the planner knows of
-- the tables: a view that was just loaded has no statistics yet.
SELECT DISTINCT party_id, subject AS username FROM projects.party_bindings
WHERE party_id = ANY (%(parties)s::uuid[]) AND provider = 'site' AND instance = %(site)s;

-- name: binding_ids_of_usernames
-- The bindings at the Site, of whichever Party, that name some usernames.
SELECT DISTINCT subject AS username, binding_id FROM projects.party_bindings
WHERE provider = 'site' AND instance = %(site)s AND subject = ANY (%(usernames)s::text[]);

-- name: bindings_by_id
-- Every binding under some ids; two under one id are a conflict.
SELECT party_id, binding_id, revision, instance, subject, established FROM projects.party_bindings
WHERE binding_id = ANY (%(ids)s::uuid[]);

-- name: project_membership
-- A Project, one Party's membership of it and the authority over it, in one moment.
SELECT p.item AS project, a.item AS authority, m.party_id, m.generation, m.binding_id, m.binding_revision, m.present
FROM projects.items p
LEFT JOIN projects.items a ON a.scope = 'authorities' AND a.id = p.id
LEFT JOIN projects.memberships m ON m.project_id = p.id AND m.party_id = %(party_id)s
WHERE p.scope = 'projects' AND p.id = %(project_id)s;
