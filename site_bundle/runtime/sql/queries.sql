-- name: feed_state
SELECT site, accepted, current, cursor, rewound, salt, draining, statement FROM feed;

-- name: advance_feed
UPDATE feed SET site = :site, current = :feed, accepted = coalesce(accepted, :feed), cursor = max(cursor, :reach);

-- name: identify_feed
UPDATE feed SET site = :site, current = :feed, accepted = coalesce(accepted, :feed);

-- name: switch_feed
UPDATE feed SET current = :feed, cursor = 0;

-- name: rewind_feed
UPDATE feed SET current = NULL, cursor = 0, rewound = 1;

-- name: accept_feed
UPDATE feed SET accepted = :feed, rewound = 0 WHERE current = :feed;

-- name: add_command
-- One that was refused by name alone stays refused, though a later version understands it: each is handled once.
INSERT INTO commands (command_id, attempt_id, sequence, act, body, valid_until, received_at)
SELECT :command_id, :attempt_id, :sequence, :act, :body, :valid_until, :now
 WHERE NOT EXISTS (SELECT 1 FROM words WHERE command_id = :command_id) ON CONFLICT (command_id) DO NOTHING;

-- name: renew_command
UPDATE commands SET valid_until = :valid_until WHERE command_id = :command_id AND state = 'received';

-- name: stages
SELECT * FROM commands WHERE act = 'submit' AND state IN ('received', 'intent', 'submitted') ORDER BY sequence, command_id;

-- name: closings
SELECT * FROM commands WHERE act <> 'submit' AND state = 'received' ORDER BY sequence, command_id;

-- name: stages_of
SELECT * FROM commands WHERE attempt_id = :attempt_id AND act = 'submit' AND state IN ('received', 'intent', 'submitted')
 ORDER BY sequence, command_id;

-- name: is_closing
SELECT EXISTS (SELECT 1 FROM commands WHERE attempt_id = :attempt_id AND act <> 'submit');

-- name: save_command
UPDATE commands
   SET state = :state, intent_at = :intent_at, job_id = :job_id, cluster = :cluster, submitted_at = :submitted_at,
       missing_since = :missing_since, code = :code
 WHERE command_id = :command_id;

-- name: close_command
UPDATE commands SET state = 'ended' WHERE command_id = :command_id;

-- name: add_word
INSERT INTO words (command_id, kind, body) VALUES (:command_id, :kind, :body) ON CONFLICT (command_id, kind) DO NOTHING;

-- name: add_refusal
INSERT INTO words (command_id, kind, body) SELECT :command_id, :kind, :body
 WHERE NOT EXISTS (SELECT 1 FROM commands WHERE command_id = :command_id) ON CONFLICT (command_id, kind) DO NOTHING;

-- name: waiting_words
-- A refusal by name alone has no command. A result waits for its acknowledgement: kinds sort that way, and one that is on its way holds the other back.
SELECT words.command_id, kind, words.body FROM words LEFT JOIN commands USING (command_id)
 WHERE delivered = 0
   AND (kind = 'ack' OR NOT EXISTS (
         SELECT 1 FROM words AS ack WHERE ack.command_id = words.command_id AND ack.kind = 'ack' AND ack.delivered = 0))
 ORDER BY sequence, kind LIMIT :limit;

-- name: deliver_word
UPDATE words SET delivered = 1, refusal = :refusal WHERE command_id = :command_id AND kind = :kind;

-- name: acknowledge_anew
UPDATE words SET delivered = 0 WHERE command_id = :command_id AND kind = 'ack';

-- name: put_statement
UPDATE feed SET statement = :body, draining = :draining;

-- name: close_statement
UPDATE feed SET statement = NULL;

-- name: counts
SELECT act, state, count(*) AS number FROM commands GROUP BY 1, 2;

-- name: waiting_count
SELECT count(*) FROM words WHERE delivered = 0;
