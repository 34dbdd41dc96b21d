-- name: feed_state
SELECT site, accepted, current, cursor, complete, rewound FROM feed WHERE only_row = 1;

-- name: advance_feed
-- The first history ever seen is the accepted one: there is nothing it could contradict.
UPDATE feed
   SET site = :site, accepted = coalesce(accepted, :feed), current = :feed, cursor = :reach,
       complete = max(complete, :complete)
 WHERE only_row = 1;

-- name: restart_feed
UPDATE feed SET current = :feed, cursor = 0, complete = 0 WHERE only_row = 1;

-- name: rewind_feed
UPDATE feed SET current = NULL, cursor = 0, complete = 0, rewound = 1 WHERE only_row = 1;

-- name: disown_changes
-- Their sequences cannot be compared with those to come, though these may bear the same feed id.
UPDATE desired_keys SET feed = '';

-- name: accept_feed
UPDATE feed SET accepted = current, rewound = 0 WHERE only_row = 1 AND current = :feed AND complete = 1;

-- name: record_change
-- Within one history a later sequence wins; another history's numbers cannot be compared, so it replaces.
INSERT INTO desired_keys (key_id, change_id, sequence, feed, act, public_key, fingerprint, username, uid_number,
                          entry_uuid, received_at)
VALUES (:key_id, :change_id, :sequence, :feed, :act, :public_key, :fingerprint, :username, :uid_number,
        :entry_uuid, :received_at)
ON CONFLICT (key_id) DO UPDATE
   SET change_id = excluded.change_id, sequence = excluded.sequence, feed = excluded.feed, act = excluded.act,
       public_key = excluded.public_key, fingerprint = excluded.fingerprint, username = excluded.username,
       uid_number = excluded.uid_number, entry_uuid = excluded.entry_uuid, received_at = excluded.received_at,
       unlisted = 0, settled = 0, outcome = NULL, code = NULL, decided_at = NULL
 WHERE excluded.feed <> desired_keys.feed OR excluded.sequence > desired_keys.sequence;

-- name: unlisted_count
-- Asked at each poll: two ranges of an index, as <> is none.
SELECT count(*) FROM desired_keys
 WHERE act = 'present'
   AND (feed < (SELECT current FROM feed) OR feed > (SELECT current FROM feed));

-- name: mark_unlisted
UPDATE desired_keys
   SET act = 'absent', unlisted = 1, settled = 0, outcome = NULL, code = NULL, decided_at = NULL, received_at = :now
 WHERE act = 'present' AND feed <> (SELECT current FROM feed)
   AND EXISTS (SELECT 1 FROM feed WHERE current = accepted AND complete = 1 AND rewound = 0);

-- name: unsettled_targets
SELECT DISTINCT entry_uuid FROM desired_keys WHERE settled = 0 AND entry_uuid > :after ORDER BY entry_uuid LIMIT :limit;

-- name: targets
SELECT DISTINCT entry_uuid FROM desired_keys WHERE entry_uuid > :after ORDER BY entry_uuid LIMIT :limit;

-- name: has_unsettled
SELECT EXISTS (SELECT 1 FROM desired_keys WHERE settled = 0);

-- name: keys_of_targets
SELECT key_id, change_id, sequence, act, public_key, fingerprint, username, uid_number, entry_uuid, outcome, code, settled,
       decided_at
  FROM desired_keys WHERE entry_uuid IN (SELECT value FROM json_each(:targets)) ORDER BY sequence, key_id;

-- name: record_verdict
UPDATE desired_keys SET outcome = :outcome, code = :code, settled = :settled, decided_at = :now
 WHERE key_id = :key_id AND change_id = :change_id;

-- name: unsettle_held
UPDATE desired_keys SET settled = 0 WHERE outcome = 'held';

-- name: unreported
-- The results of one pass, the oldest first: a report has one observedAt, taken before the reads it speaks of.
SELECT key_id, change_id, sequence, outcome, code, decided_at FROM desired_keys
 WHERE feed = (SELECT current FROM feed) AND decided_at IS NOT NULL AND unlisted = 0
   AND (reported_change IS NOT change_id OR reported_outcome IS NOT outcome OR reported_code IS NOT code)
   AND decided_at = (
SELECT min(decided_at) FROM desired_keys
 WHERE feed = (SELECT current FROM feed) AND decided_at IS NOT NULL AND unlisted = 0
   AND (reported_change IS NOT change_id OR reported_outcome IS NOT outcome OR reported_code IS NOT code))
 ORDER BY sequence LIMIT :limit;

-- name: has_unreported
SELECT EXISTS (
SELECT 1 FROM desired_keys
 WHERE feed = (SELECT current FROM feed) AND decided_at IS NOT NULL AND unlisted = 0
   AND (reported_change IS NOT change_id OR reported_outcome IS NOT outcome OR reported_code IS NOT code));

-- name: open_report
SELECT report_id, body FROM report WHERE only_row = 1;

-- name: keep_report
INSERT INTO report (only_row, report_id, body, made_at) VALUES (1, :report_id, :body, :now);

-- name: keep_report_result
INSERT INTO report_results (position, change_id, key_id, outcome, code)
VALUES (:position, :change_id, :key_id, :outcome, :code);

-- name: report_changes
SELECT change_id FROM report_results ORDER BY position;

-- name: mark_reported
UPDATE desired_keys
   SET reported_change = sent.change_id, reported_outcome = sent.outcome, reported_code = sent.code
  FROM report_results AS sent
 WHERE sent.key_id = desired_keys.key_id AND sent.change_id IN (SELECT value FROM json_each(:received));

-- name: unsettle_stale
-- Without a time a verdict is not reported; the next pass gives it one, be it the same verdict again.
UPDATE desired_keys SET settled = 0, decided_at = NULL WHERE change_id IN (SELECT value FROM json_each(:stale));

-- name: unsettle_future
UPDATE desired_keys SET settled = 0, decided_at = NULL
 WHERE change_id IN (SELECT change_id FROM report_results) OR julianday(decided_at) > julianday(:now);

-- name: drop_report
DELETE FROM report;

-- name: drop_report_results
DELETE FROM report_results;

-- name: counts
SELECT act, coalesce(outcome, 'undecided') AS outcome, unlisted, count(*) AS number
  FROM desired_keys GROUP BY 1, 2, 3;

-- name: oldest_unsettled
SELECT min(received_at) FROM desired_keys WHERE settled = 0 AND act = 'absent';
