-- name: projects
-- Projects and the authority over each.
SELECT p.id, p.item AS project, a.item AS authority
FROM projects.items p LEFT JOIN projects.items a ON a.scope = 'authorities' AND a.id = p.id
WHERE p.scope = 'projects' AND p.id = ANY (%(project_ids)s::uuid[]);

-- name: memberships
-- One Party's membership of one Project, for several pairs; tombstones included.
SELECT m.project_id, m.party_id, m.generation, m.binding_id, m.binding_revision, m.present
FROM (SELECT DISTINCT * FROM unnest(%(pair_projects)s::uuid[], %(pair_parties)s::uuid[]) AS p (project_id, party_id)) p
JOIN projects.memberships m USING (project_id, party_id);

-- name: bindings
-- Site bindings under these ids, and every one at the same Site under the same name, of whichever Party.
SELECT DISTINCT b.party_id, b.binding_id, b.revision, b.instance, b.subject, b.established
FROM projects.party_bindings named
JOIN projects.party_bindings b ON b.binding_id = named.binding_id
    OR (b.provider = 'site' AND b.instance = named.instance AND b.subject = named.subject)
WHERE named.binding_id = ANY (%(binding_ids)s::uuid[]) AND named.provider = 'site';
