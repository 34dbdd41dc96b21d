-- Projects as an operator lists and names them (O1). Named parameters; read committed.

-- name: projects_after
-- The next Projects with the authority over each and how many members it has now.
SELECT p.id, p.item AS project, a.item AS authority,
       (SELECT count(*) FROM projects.memberships m WHERE m.project_id = p.id AND m.present) AS members
FROM projects.items p
LEFT JOIN projects.items a ON a.scope = 'authorities' AND a.id = p.id
WHERE p.scope = 'projects' AND p.id > %(after)s
ORDER BY p.id LIMIT %(limit)s;

-- name: projects_named
-- The Project of this id, or those that hold a provider's Project of this name, at whichever installation.
SELECT id FROM projects.items WHERE scope = 'projects' AND id = %(project_id)s
UNION
SELECT project_id FROM projects.project_bindings
WHERE ref = %(ref)s
  AND NOT EXISTS (SELECT FROM projects.items WHERE scope = 'projects' AND id = %(project_id)s)
ORDER BY 1;

-- name: projects_of_party
-- The Projects a Party is or ever was a member of.
SELECT project_id AS id FROM projects.memberships WHERE party_id = %(party_id)s ORDER BY 1;
