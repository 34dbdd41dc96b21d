-- name: receive
-- Notes a message for a consumer; touches no row if it was noted before. Waits for whoever is noting it now.
INSERT INTO {schema}.consumer_receipts (consumer, message_id, received_at)
VALUES (%(consumer)s, %(message_id)s, %(now)s) ON CONFLICT DO NOTHING;

-- name: forget
-- Forgets receipts older than a message can still be under way; the revisions hold afterwards.
DELETE FROM {schema}.consumer_receipts WHERE received_at < %(before)s;
