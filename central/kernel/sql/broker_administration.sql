-- name: enrolments
-- Who may do what.
SELECT identity, act, name FROM broker.enrolments ORDER BY identity, act, name;

-- name: queues
-- Every declared queue with what waits in it and what was buried.
SELECT q.name, q.max_attempts,
       ARRAY(SELECT topic::text FROM broker.bindings WHERE queue = q.name ORDER BY topic) AS topics,
       (SELECT count(*) FROM broker.deliveries WHERE queue = q.name) AS waiting,
       (SELECT min(visible_at) FROM broker.deliveries WHERE queue = q.name) AS due_since,
       (SELECT count(*) FROM broker.dead_letters WHERE queue = q.name) AS dead
FROM broker.queues q ORDER BY q.name;

-- name: buried
-- What was buried, oldest first.
SELECT queue, position, message_id, topic, octet_length(body) AS size, attempts, reason, died_at
FROM broker.dead_letters WHERE %(queue)s::text IS NULL OR queue = %(queue)s
ORDER BY died_at, queue, position LIMIT %(limit)s;

-- name: positions
-- Where a queue's buried messages are: some of them, or every one (NULL).
SELECT position FROM broker.dead_letters
WHERE queue = %(queue)s AND (%(some)s::bigint[] IS NULL OR position = ANY (%(some)s::bigint[]))
ORDER BY position;

-- name: replay
-- Puts buried messages back at the end of their queue and wakes its consumer.
WITH gone AS (
    DELETE FROM broker.dead_letters
    WHERE queue = %(queue)s AND position = ANY (%(positions)s::bigint[]) RETURNING *
), stored AS (
    INSERT INTO broker.deliveries (queue, message_id, topic, body)
    SELECT queue, message_id, topic, body FROM gone ORDER BY position
), woken AS (
    SELECT pg_notify('pharos_broker', queue) FROM (SELECT DISTINCT queue FROM gone) q
)
SELECT (SELECT count(*) FROM gone) AS count FROM (SELECT count(*) FROM woken) notified;

-- name: discard
-- Forgets buried messages.
WITH gone AS (
    DELETE FROM broker.dead_letters
    WHERE queue = %(queue)s AND position = ANY (%(positions)s::bigint[]) RETURNING 1
)
SELECT count(*) AS count FROM gone;
