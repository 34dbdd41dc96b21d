-- name: account_sets
-- When each allocation's complete set was last confirmed, as far as it has one.
SELECT allocation_id, observed_at FROM provisioning.account_sets
WHERE allocation_id = ANY (%(ids)s::uuid[]);

-- name: accounts
-- Every account ever confirmed at some allocations, absent ones too.
SELECT allocation_id, party_id, binding_id, generation, native_uid, name, uid_number, state::text AS state,
       changed_at
FROM provisioning.accounts WHERE allocation_id = ANY (%(ids)s::uuid[])
ORDER BY allocation_id, name, party_id, generation, native_uid;

-- name: accounts_of_site
-- Every account ever confirmed at a Site in the order of their key, with when its set was last confirmed.
SELECT a.allocation_id, a.party_id, a.binding_id, a.generation, a.native_uid, a.name, a.uid_number,
       a.state::text AS state, a.changed_at, s.observed_at
  FROM provisioning.accounts a
  JOIN provisioning.account_sets s ON s.allocation_id = a.allocation_id
 WHERE s.site = %(site)s
   AND (a.allocation_id, a.party_id, a.binding_id, a.generation, a.native_uid)
     > (%(allocation)s::uuid, %(party)s::uuid, %(binding)s::uuid, %(generation)s::bigint, %(native_uid)s::text)
 ORDER BY a.allocation_id, a.party_id, a.binding_id, a.generation, a.native_uid
 LIMIT %(limit)s;

-- name: ids_of_site_after
-- The next allocations of a Site in id order.
SELECT allocation_id AS id FROM provisioning.allocation_sightings
 WHERE site = %(site)s AND allocation_id > %(after)s ORDER BY 1 LIMIT %(limit)s;
