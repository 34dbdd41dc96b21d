-- What a Site's reports hold of one person, as one set (P30). Named parameters; read committed.

-- name: of_projects
-- A Site's allocations of some Projects with everything they are checked against (as `saved`, P7), each with its set and
-- the Party's present accounts in it (as `accounts_of_party`). OFFSET 0: as in `saved`.
SELECT u.allocation_id AS id, h.version AS head_version, h.digest AS head_digest, v.version, v.digest, v.snapshot,
       u.site, u.project_id, u.version AS sighted_version, u.revision, u.standing::text AS standing,
       encode(uuid_send(u.content), 'hex') AS content, u.seen_at,
       t.site AS set_site, t.observed_at, t.accounts,
       (SELECT count(*) FROM provisioning.accounts p WHERE p.allocation_id = u.allocation_id AND p.state <> 'a')
           AS present,
       a.party_id, a.binding_id, a.generation, a.native_uid, a.name, a.uid_number, a.state::text AS state
  FROM (
       SELECT 'allocation' AS kind, s.* FROM provisioning.allocation_sightings s
        WHERE s.project_id = ANY (%(projects)s::uuid[]) AND s.site = %(site)s OFFSET 0
       ) AS u
  LEFT JOIN provisioning.aggregate_heads h ON h.kind = u.kind AND h.id = u.allocation_id
  LEFT JOIN LATERAL (
       SELECT n.version, n.digest, n.snapshot::text AS snapshot
         FROM provisioning.aggregate_versions n
        WHERE n.kind = u.kind AND n.id = u.allocation_id
        ORDER BY n.version DESC LIMIT 1) AS v ON true
  LEFT JOIN provisioning.account_sets t ON t.allocation_id = u.allocation_id
  LEFT JOIN provisioning.accounts a
    ON a.allocation_id = u.allocation_id AND a.party_id = %(party)s AND a.state <> 'a'
 ORDER BY u.allocation_id, a.binding_id, a.generation, a.native_uid;

-- name: at_site
-- The set of every allocation of a Site with the Party's present accounts in it; a row each at least.
SELECT s.allocation_id AS id, t.site, t.observed_at, t.accounts, coalesce(p.present, 0) AS present,
       a.party_id, a.binding_id, a.generation, a.native_uid, a.name, a.uid_number, a.state::text AS state
  FROM provisioning.allocation_sightings s
  LEFT JOIN provisioning.account_sets t ON t.allocation_id = s.allocation_id
  LEFT JOIN (
       SELECT allocation_id, count(*) AS present FROM provisioning.accounts WHERE state <> 'a' GROUP BY allocation_id
       ) AS p ON p.allocation_id = s.allocation_id
  LEFT JOIN provisioning.accounts a
    ON a.allocation_id = s.allocation_id AND a.party_id = %(party)s AND a.state <> 'a'
 WHERE s.site = %(site)s
 ORDER BY s.allocation_id, a.binding_id, a.generation, a.native_uid;

-- name: allocations_of_party
-- A Site's allocations of some Projects, and those that ever had an account of the Party.
SELECT s.allocation_id AS id FROM provisioning.allocation_sightings s
 WHERE s.site = %(site)s
   AND (s.project_id = ANY (%(projects)s::uuid[])
        OR EXISTS (SELECT FROM provisioning.accounts a
                    WHERE a.allocation_id = s.allocation_id AND a.party_id = %(party)s))
 ORDER BY 1;
