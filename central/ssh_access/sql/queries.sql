-- Members' keys and Sites' feeds. Named parameters; read committed.

-- name: lock_site
-- One writer of a Site's feed at a time, to the end of the transaction: sequences become visible in order.
SELECT pg_advisory_xact_lock(hashtextextended('ssh_access.feed:' || %(site)s, 0));

-- name: ensure_feed
-- The Site's history begins, once.
INSERT INTO ssh_access.feeds (site) VALUES (%(site)s) ON CONFLICT (site) DO NOTHING;

-- name: feeds
SELECT site, feed, head FROM ssh_access.feeds ORDER BY site;

-- name: renew_feed
-- Another identity for the history a restore left: whoever knows the earlier one sees that it is not this one.
UPDATE ssh_access.feeds SET feed = %(feed)s WHERE site = %(site)s RETURNING site, feed, head;

-- name: keys_of_member
SELECT key_id, member, site, name, key_type, blob, bits, username, uid_number, entry_uuid, act, change_id, state,
       reason, added_at, changed_at, reported_at, answered_at, revision
  FROM ssh_access.member_keys
 WHERE member = %(member)s
 ORDER BY added_at, key_id;

-- name: keys_of_member_at_site
SELECT key_id, member, site, name, key_type, blob, bits, username, uid_number, entry_uuid, act, change_id, state,
       reason, added_at, changed_at, reported_at, answered_at, revision
  FROM ssh_access.member_keys
 WHERE member = %(member)s AND site = %(site)s
 ORDER BY added_at, key_id;

-- name: key_by_id
SELECT key_id, member, site, name, key_type, blob, bits, username, uid_number, entry_uuid, act, change_id, state,
       reason, added_at, changed_at, reported_at, answered_at, revision
  FROM ssh_access.member_keys
 WHERE key_id = %(key_id)s;

-- name: key_for_update
-- The row as the last writer left it; the writer behind us waits.
SELECT key_id, member, site, name, key_type, blob, bits, username, uid_number, entry_uuid, act, change_id, state,
       reason, added_at, changed_at, reported_at, answered_at, revision
  FROM ssh_access.member_keys
 WHERE key_id = %(key_id)s
   FOR UPDATE;

-- name: insert_key
INSERT INTO ssh_access.member_keys
       (key_id, member, site, name, key_type, blob, bits, username, uid_number, entry_uuid, act, change_id, state,
        reason, added_at, changed_at, reported_at, answered_at, revision)
VALUES (%(key_id)s, %(member)s, %(site)s, %(name)s, %(key_type)s, %(blob)s, %(bits)s, %(username)s,
        %(uid_number)s, %(entry_uuid)s, %(act)s, %(change_id)s, %(state)s, %(reason)s, %(added_at)s,
        %(changed_at)s, %(reported_at)s, %(answered_at)s, %(revision)s);

-- name: update_wish
-- What is wanted of a key changes. The caller holds the row.
UPDATE ssh_access.member_keys
   SET act = %(act)s, change_id = %(change_id)s, state = %(state)s, reason = %(reason)s,
       changed_at = %(changed_at)s, answered_at = %(answered_at)s, revision = %(revision)s
 WHERE key_id = %(key_id)s;

-- name: append_change
-- The next change of the Site, under lock_site. Older changes of the key, and removals of the same blob from the
-- same entry that are done, are listed no longer.
WITH head AS (
    UPDATE ssh_access.feeds SET head = head + 1 WHERE site = %(site)s RETURNING head
), superseded AS (
    UPDATE ssh_access.changes c
       SET superseded_by = head.head
      FROM head, ssh_access.member_keys older, ssh_access.member_keys newer
     WHERE c.site = %(site)s AND c.superseded_by IS NULL
       AND older.key_id = c.key_id AND newer.key_id = %(key_id)s
       AND (c.key_id = newer.key_id
            OR (older.state = 'removed' AND sha256(older.blob) = sha256(newer.blob)
                AND older.site = newer.site AND older.entry_uuid = newer.entry_uuid
                AND older.username = newer.username AND older.uid_number = newer.uid_number))
)
INSERT INTO ssh_access.changes (site, sequence, change_id, key_id, act, recorded_at)
SELECT %(site)s, head, %(change_id)s, %(key_id)s, %(act)s, %(now)s FROM head;

-- name: notify_site
-- Wakes the parked polls of a Site once this commits.
SELECT pg_notify('pharos_ssh_access', %(site)s);

-- name: change_page
-- The Site's feed above a sequence, one more than asked for; one row without a change when there is none. One
-- statement, so head and changes are of one moment.
SELECT f.feed, f.head, c.sequence, c.change_id, c.act, c.key_id, c.key_type, c.blob, c.bits, c.username,
       c.uid_number, c.entry_uuid
  FROM ssh_access.feeds f
  LEFT JOIN LATERAL (
       SELECT ch.sequence, ch.change_id, ch.act, k.key_id, k.key_type, k.blob, k.bits, k.username, k.uid_number,
              k.entry_uuid
         FROM ssh_access.changes ch
         JOIN ssh_access.member_keys k ON k.key_id = ch.key_id
        WHERE ch.site = f.site AND ch.sequence > %(after)s AND ch.superseded_by IS NULL
        ORDER BY ch.sequence
        LIMIT %(limit)s + 1
       ) c ON true
 WHERE f.site = %(site)s
 ORDER BY c.sequence;

-- name: reported_keys
-- The keys a report speaks of, locked in one order whatever the report's, so that two reports never deadlock.
SELECT k.key_id, k.member, k.site, k.name, k.key_type, k.blob, k.bits, k.username, k.uid_number, k.entry_uuid,
       k.act, k.change_id, k.state, k.reason, k.added_at, k.changed_at, k.reported_at, k.answered_at, k.revision
  FROM ssh_access.member_keys k
 WHERE k.key_id = ANY (%(key_ids)s::uuid[]) AND k.site = %(site)s
 ORDER BY k.key_id
   FOR NO KEY UPDATE;

-- name: known_changes
-- Which of these changes the Site was ever asked for.
SELECT c.change_id, c.sequence, c.key_id
  FROM ssh_access.changes c
 WHERE c.site = %(site)s AND c.change_id = ANY (%(change_ids)s::uuid[]);

-- name: update_reported
-- What the report made of them, in one statement. The caller holds the rows.
UPDATE ssh_access.member_keys k
   SET state = r.state, reason = r.reason, changed_at = r.changed_at, reported_at = r.reported_at,
       answered_at = r.answered_at, revision = r.revision
  FROM unnest(%(key_ids)s::uuid[], %(states)s::text[], %(reasons)s::text[], %(changed_ats)s::timestamptz[],
              %(reported_ats)s::timestamptz[], %(answered_ats)s::timestamptz[], %(revisions)s::integer[])
       AS r (key_id, state, reason, changed_at, reported_at, answered_at, revision)
 WHERE k.key_id = r.key_id;

-- name: last_change
-- A change with its place in the Site's feed.
SELECT c.sequence, c.recorded_at, c.superseded_by IS NULL AS listed, f.head
  FROM ssh_access.changes c
  JOIN ssh_access.feeds f ON f.site = c.site
 WHERE c.change_id = %(change_id)s;

-- name: key_counts
-- How many of each member's keys are in which state at a Site, and for which accounts, in the order of members.
SELECT member, count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'pending') AS pending,
       count(*) FILTER (WHERE state = 'removing') AS removing, count(*) FILTER (WHERE state = 'removed') AS removed,
       count(*) FILTER (WHERE state = 'held') AS held, count(*) FILTER (WHERE state = 'refused') AS refused,
       max(reported_at) AS reported_at, string_agg(DISTINCT username, ', ' ORDER BY username) AS accounts
  FROM ssh_access.member_keys
 WHERE site = %(site)s AND member > %(after)s
 GROUP BY member ORDER BY member LIMIT %(limit)s;
