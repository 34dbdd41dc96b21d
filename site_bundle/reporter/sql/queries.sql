-- name: applied
SELECT association_id, entry_uuid, party_id, binding_id, generation FROM applied;

-- name: record_applied
INSERT INTO applied (association_id, entry_uuid, party_id, binding_id, generation, applied_at)
VALUES (:association_id, :entry_uuid, :party_id, :binding_id, :generation, :now)
ON CONFLICT (association_id) DO UPDATE
   SET entry_uuid = excluded.entry_uuid, party_id = excluded.party_id, binding_id = excluded.binding_id,
       generation = excluded.generation, applied_at = excluded.applied_at;

-- name: latest
SELECT coalesce(max(sequence), 0) FROM outbox;

-- name: keep
INSERT INTO outbox (report_id, kind, subjects, observed_at, body, made_at, tried_at)
VALUES (:report_id, :kind, :subjects, :observed_at, :body, :now, NULL);

-- name: supersede
-- Of the reports up to the sequence :before, those that were never tried and of whose subjects each stands in a report
-- of a later pass. What may have reached central is sent until it is answered.
DELETE FROM outbox
 WHERE sequence <= :before AND tried_at IS NULL
   AND NOT EXISTS (
       SELECT value FROM json_each(outbox.subjects)
       EXCEPT
       SELECT said.value FROM outbox AS later, json_each(later.subjects) AS said
        WHERE later.sequence > outbox.sequence AND later.observed_at <> outbox.observed_at);

-- name: next
SELECT sequence, report_id, kind, subjects, observed_at, body, tried_at FROM outbox
 WHERE sequence > :after ORDER BY sequence LIMIT 1;

-- name: mark_tried
UPDATE outbox SET tried_at = :now WHERE sequence = :sequence;

-- name: settle
DELETE FROM outbox WHERE sequence = :sequence;

-- name: waiting
SELECT count(*) AS number, min(observed_at) AS oldest FROM outbox;

-- name: seen
SELECT username, dn, group_dn, group_gid, gone, accepted FROM people
 WHERE username > :after ORDER BY username LIMIT :page;

-- name: record_seen
INSERT INTO people (username, dn, group_dn, group_gid, gone, accepted, changed_at)
VALUES (:username, :dn, :group_dn, :group_gid, :gone, :accepted, :now)
ON CONFLICT (username) DO UPDATE
   SET dn = excluded.dn, group_dn = excluded.group_dn, group_gid = excluded.group_gid, gone = excluded.gone,
       accepted = excluded.accepted, changed_at = excluded.changed_at;

-- name: forget_seen
DELETE FROM people WHERE username = :username;

-- name: accept_absence
INSERT INTO people (username, dn, group_dn, group_gid, gone, accepted, changed_at)
VALUES (:username, '', '', NULL, 0, 1, :now)
ON CONFLICT (username) DO UPDATE SET accepted = 1, changed_at = excluded.changed_at;

-- name: record_acceptance
INSERT INTO acceptances (username, accepted_by, reason, accepted_at) VALUES (:username, :by, :reason, :now);

-- name: acceptances
SELECT username, accepted_by, reason, accepted_at FROM acceptances ORDER BY sequence;
