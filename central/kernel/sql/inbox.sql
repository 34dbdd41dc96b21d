-- name: receive
-- Notes messages for a consumer and returns those that were not noted before. Waits for whoever is noting one now;
-- in order, so that two who note the same ones do not wait for each other.
INSERT INTO {schema}.consumer_receipts (consumer, message_id, received_at)
SELECT %(consumer)s, m.id, %(now)s FROM (SELECT DISTINCT unnest(%(ids)s::uuid[]) AS id ORDER BY 1) m
ON CONFLICT DO NOTHING RETURNING message_id;

-- name: forget
-- Forgets receipts older than a message can still be under way; the revisions hold afterwards.
DELETE FROM {schema}.consumer_receipts WHERE received_at < %(before)s;
