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
