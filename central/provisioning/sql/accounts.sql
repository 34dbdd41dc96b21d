-- Native accounts (P21–P24). Named parameters, arrays as `adapters/arrays.py` and
-- `kernel/binary_arrays.py` make them; read committed.

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

-- name: lock_site
-- One report of a Site about many sets at a time: overlapping tries of one agent do not lock rows in two orders.
SELECT pg_advisory_xact_lock(hashtextextended('provisioning.account-sets:' || %(site)s, 0));

-- name: renew_sets
-- As renew_set for many: renews every set that is still exactly as reported and returns the positions of the others.
WITH wanted AS (
    SELECT u.allocation_id, u.content, u.position
      FROM unnest(%(allocations)s::uuid[], %(contents)s::uuid[])
           WITH ORDINALITY AS u (allocation_id, content, position)
), renewed AS (
    UPDATE provisioning.account_sets s
       SET observed_at = %(observed_at)s
      FROM wanted w
     WHERE s.allocation_id = w.allocation_id AND s.site = %(site)s AND s.content = w.content
       AND s.observed_at < %(observed_at)s
    RETURNING s.allocation_id
)
SELECT (w.position - 1)::integer AS position
  FROM wanted w LEFT JOIN renewed r ON r.allocation_id = w.allocation_id
 WHERE r.allocation_id IS NULL
 ORDER BY w.position;

-- name: forget_account_reports
-- Receipts nobody will ask for again.
DELETE FROM provisioning.account_reports WHERE site = %(site)s AND received_at < %(forget_before)s;

-- name: standing_sets
-- Of each allocation in order: whether the Site has it, and the set that stands.
SELECT EXISTS (
           SELECT FROM provisioning.allocation_sightings a WHERE a.allocation_id = w.id AND a.site = %(site)s
       ) AS known, s.site, s.version, s.content, s.observed_at
  FROM unnest(%(allocations)s::uuid[]) WITH ORDINALITY AS w (id, position)
  LEFT JOIN provisioning.account_sets s ON s.allocation_id = w.id
 ORDER BY w.position;

-- name: put_sets
-- Compare-and-set (F09): a set is replaced only at the version that was judged, and version 1 only where none is.
INSERT INTO provisioning.account_sets AS s (allocation_id, site, version, content, accounts, observed_at)
SELECT u.allocation_id, %(site)s, u.version, u.content, u.accounts, %(observed_at)s
  FROM unnest(%(allocations)s::uuid[], %(versions)s::integer[], %(contents)s::uuid[], %(counts)s::integer[])
       AS u (allocation_id, version, content, accounts)
ON CONFLICT (allocation_id) DO UPDATE
   SET version = excluded.version, content = excluded.content, accounts = excluded.accounts,
       observed_at = excluded.observed_at
 WHERE s.version = excluded.version - 1 AND s.site = excluded.site AND s.observed_at < excluded.observed_at;

-- name: mark_absent
-- Accounts the new sets do not hold stay as evidence (P23).
UPDATE provisioning.accounts a
   SET state = 'a', changed_at = %(observed_at)s
 WHERE a.allocation_id = ANY (%(allocations)s::uuid[]) AND a.state <> 'a'
   AND NOT EXISTS (
       SELECT FROM unnest(%(owners)s::uuid[], %(parties)s::uuid[], %(bindings)s::uuid[], %(generations)s::bigint[],
                          %(uids)s::text[]) AS u (allocation_id, party_id, binding_id, generation, native_uid)
        WHERE (u.allocation_id, u.party_id, u.binding_id, u.generation, u.native_uid)
            = (a.allocation_id, a.party_id, a.binding_id, a.generation, a.native_uid));

-- name: put_accounts
-- The accounts of the new sets, each of its allocation; one that stands exactly so is not touched.
INSERT INTO provisioning.accounts AS a
       (allocation_id, party_id, binding_id, generation, native_uid, name, uid_number, state, first_seen_at, changed_at)
SELECT u.allocation_id, u.party_id, u.binding_id, u.generation, u.native_uid, u.name, u.uid_number, u.state::"char",
       %(observed_at)s, %(observed_at)s
  FROM unnest(%(owners)s::uuid[], %(parties)s::uuid[], %(bindings)s::uuid[], %(generations)s::bigint[],
              %(uids)s::text[], %(names)s::text[], %(numbers)s::integer[], %(states)s::text[])
       AS u (allocation_id, party_id, binding_id, generation, native_uid, name, uid_number, state)
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
