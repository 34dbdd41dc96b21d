-- Native accounts (P21–P24). Named parameters, arrays in PostgreSQL's text form; read committed.

-- name: renew_set
-- Renews the set that is still exactly as reported and keeps the report's receipt; no row where it is not. Content and
-- time are compared in the very row that is updated, so a change that commits while this waits is seen. kept = 0: the
-- report's id was used before.
WITH renewed AS (
    UPDATE provisioning.account_sets
       SET observed_at = %(observed_at)s
     WHERE allocation_id = %(allocation)s AND site = %(site)s AND content = %(content)s
       AND observed_at < %(observed_at)s
    RETURNING version
), forgotten AS (
    DELETE FROM provisioning.account_reports WHERE site = %(site)s AND received_at < %(forget_before)s
), kept AS (
    INSERT INTO provisioning.account_reports (site, report_id, digest, outcome, received_at)
    SELECT %(site)s, %(report_id)s, %(digest)s, 'unchanged', %(now)s FROM renewed
    ON CONFLICT ON CONSTRAINT account_reports_pkey DO NOTHING
    RETURNING 1
)
SELECT version, (SELECT count(*) FROM kept) AS kept FROM renewed;

-- name: lock_set
-- One writer of an allocation's set at a time: a retry beside its first try waits.
SELECT pg_advisory_xact_lock(hashtextextended('provisioning.accounts:' || %(allocation)s::text, 0));

-- name: account_report
-- A report's receipt.
SELECT digest, outcome FROM provisioning.account_reports WHERE site = %(site)s AND report_id = %(report_id)s;

-- name: add_account_report
-- A report's receipt, once.
INSERT INTO provisioning.account_reports (site, report_id, digest, outcome, received_at)
VALUES (%(site)s, %(report_id)s, %(digest)s, %(outcome)s, %(now)s)
ON CONFLICT ON CONSTRAINT account_reports_pkey DO NOTHING;

-- name: standing_set
-- Whether the Site has the allocation, and the set that stands.
SELECT EXISTS (
           SELECT FROM provisioning.allocation_sightings WHERE allocation_id = w.id AND site = %(site)s
       ) AS known, s.site, s.version, s.content, s.observed_at
  FROM (SELECT %(allocation)s::uuid AS id) AS w
  LEFT JOIN provisioning.account_sets s ON s.allocation_id = w.id;

-- name: put_set
-- Compare-and-set (F09): a set is replaced only at the version that was judged, and version 1 only where none is.
INSERT INTO provisioning.account_sets AS s (allocation_id, site, version, content, accounts, observed_at)
VALUES (%(allocation)s, %(site)s, %(version)s, %(content)s, %(count)s, %(observed_at)s)
ON CONFLICT (allocation_id) DO UPDATE
   SET version = excluded.version, content = excluded.content, accounts = excluded.accounts,
       observed_at = excluded.observed_at
 WHERE s.version = excluded.version - 1 AND s.site = excluded.site AND s.observed_at < excluded.observed_at;

-- name: mark_absent
-- Accounts the new set does not hold stay as evidence (P23).
UPDATE provisioning.accounts a
   SET state = 'a', changed_at = %(observed_at)s
 WHERE a.allocation_id = %(allocation)s AND a.state <> 'a'
   AND NOT EXISTS (
       SELECT FROM unnest(%(parties)s::uuid[], %(bindings)s::uuid[], %(generations)s::bigint[], %(uids)s::text[])
                   AS u (party_id, binding_id, generation, native_uid)
        WHERE (u.party_id, u.binding_id, u.generation, u.native_uid)
            = (a.party_id, a.binding_id, a.generation, a.native_uid));

-- name: put_accounts
-- The accounts of the new set; one that stands exactly so is not touched.
INSERT INTO provisioning.accounts AS a
       (allocation_id, party_id, binding_id, generation, native_uid, name, uid_number, state, first_seen_at, changed_at)
SELECT %(allocation)s, u.party_id, u.binding_id, u.generation, u.native_uid, u.name, u.uid_number, u.state::"char",
       %(observed_at)s, %(observed_at)s
  FROM unnest(%(parties)s::uuid[], %(bindings)s::uuid[], %(generations)s::bigint[], %(uids)s::text[],
              %(names)s::text[], %(numbers)s::integer[], %(states)s::text[])
       AS u (party_id, binding_id, generation, native_uid, name, uid_number, state)
ON CONFLICT ON CONSTRAINT accounts_pkey DO UPDATE
   SET name = excluded.name, uid_number = excluded.uid_number, state = excluded.state,
       changed_at = excluded.changed_at
 WHERE (a.name, a.uid_number, a.state) IS DISTINCT FROM (excluded.name, excluded.uid_number, excluded.state);

-- name: accounts_of_party
-- A Party's present accounts with the set they belong to, in one statement; one row at least. present counts all of the
-- set, so that a lost row is never taken for an absent account (X1).
SELECT s.site, s.observed_at, s.accounts,
       (SELECT count(*) FROM provisioning.accounts p WHERE p.allocation_id = w.id AND p.state <> 'a') AS present,
       a.party_id, a.binding_id, a.generation, a.native_uid, a.name, a.uid_number, a.state::text AS state
  FROM (SELECT %(allocation)s::uuid AS id) AS w
  LEFT JOIN provisioning.account_sets s ON s.allocation_id = w.id
  LEFT JOIN provisioning.accounts a
    ON a.allocation_id = w.id AND a.party_id = %(party)s AND a.state <> 'a'
 ORDER BY a.binding_id, a.generation, a.native_uid;
