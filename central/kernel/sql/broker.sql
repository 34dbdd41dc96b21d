-- name: declare
-- Makes a durable queue, or lets it stand.
SELECT broker.declare_queue(%(queue)s, %(topics)s::text[], %(attempts)s);

-- name: enrol
-- Lets a login role do one thing at the broker.
SELECT broker.enrol(%(identity)s, %(act)s, %(name)s);

-- name: identity
-- Who this connection is to row security.
SELECT current_user::text AS identity;

-- name: exists
-- Whether the durable queue is there.
SELECT EXISTS (SELECT FROM broker.queues WHERE name = %(queue)s) AS yes;

-- name: may_look
-- Whether this connection's identity has any enrolment.
SELECT has_schema_privilege(current_user, 'broker', 'USAGE') AS yes;

-- name: allowed
-- Whether this connection's identity is enrolled; who bypasses row security is. Needs `may_look`.
SELECT broker.allowed(current_user, %(act)s, %(name)s)
       OR NOT row_security_active('broker.deliveries') AS yes;

-- name: publish
-- Stores each message for every queue bound to its topic and wakes their consumers, in one statement.
WITH routed AS (
    SELECT b.queue, m.id, m.topic, m.body, m.n
    FROM unnest(%(ids)s::uuid[], %(topics)s::text[], %(bodies)s::bytea[]) WITH ORDINALITY AS m (id, topic, body, n)
    JOIN broker.bindings b ON b.topic = m.topic
), stored AS (
    INSERT INTO broker.deliveries (queue, message_id, topic, body)
    SELECT queue, id, topic, body FROM routed ORDER BY n
)
SELECT pg_notify('pharos_broker', queue) FROM (SELECT DISTINCT queue FROM routed) woken;

-- name: ask
-- Puts questions to a queue; each is dropped when its asker has stopped waiting, as are answers nobody took.
WITH untaken AS (
    DELETE FROM broker.answers WHERE answered_at < clock_timestamp() - interval '1 hour'
), stored AS (
    INSERT INTO broker.deliveries (queue, message_id, topic, body, question_until)
    SELECT q.name, a.id, 'question', a.body, clock_timestamp() + make_interval(secs => %(seconds)s)
    FROM broker.queues q, unnest(%(ids)s::uuid[], %(bodies)s::bytea[]) WITH ORDINALITY AS a (id, body, n)
    WHERE q.name = %(queue)s ORDER BY a.n
)
SELECT pg_notify('pharos_broker', %(queue)s);

-- name: fetch
-- Leases what is due, oldest first, and never what another consumer is taking. What was handed out too often
-- (its consumers died with it) is buried, an expired question is dropped.
WITH due AS (
    SELECT d.position, d.attempts >= q.max_attempts AS spent,
           coalesce(d.question_until < clock_timestamp(), false) AS expired
    FROM broker.deliveries d JOIN broker.queues q ON q.name = d.queue
    WHERE d.queue = %(queue)s AND d.visible_at <= clock_timestamp()
    ORDER BY d.position LIMIT %(limit)s FOR UPDATE OF d SKIP LOCKED
), gone AS (
    DELETE FROM broker.deliveries d USING due
    WHERE d.queue = %(queue)s AND d.position = due.position AND (due.spent OR due.expired)
    RETURNING d.*
), buried AS (
    INSERT INTO broker.dead_letters (queue, position, message_id, topic, body, attempts, reason)
    SELECT queue, position, message_id, topic, body, attempts, coalesce(reason, 'attempts_exhausted')
    FROM gone WHERE question_until IS NULL
)
UPDATE broker.deliveries d
SET attempts = d.attempts + 1, visible_at = clock_timestamp() + make_interval(secs => %(lease)s)
FROM due WHERE d.queue = %(queue)s AND d.position = due.position AND NOT due.spent AND NOT due.expired
RETURNING d.position, d.message_id, d.topic, d.body, d.attempts;

-- name: ack
-- Settles what is still leased to the caller.
DELETE FROM broker.deliveries d USING unnest(%(positions)s::bigint[], %(attempts)s::integer[]) AS g (position, attempts)
WHERE d.queue = %(queue)s AND d.position = g.position AND d.attempts = g.attempts;

-- name: nack
-- Gives back what is leased to the caller, each after its pause; what was tried often enough is buried.
WITH given AS (
    SELECT * FROM unnest(%(positions)s::bigint[], %(attempts)s::integer[], %(pauses)s::float8[])
        AS g (position, attempts, pause)
), spent AS (
    DELETE FROM broker.deliveries d USING given g, broker.queues q
    WHERE d.queue = %(queue)s AND d.position = g.position AND d.attempts = g.attempts
      AND q.name = d.queue AND d.attempts >= q.max_attempts
    RETURNING d.*
), buried AS (
    INSERT INTO broker.dead_letters (queue, position, message_id, topic, body, attempts, reason)
    SELECT queue, position, message_id, topic, body, attempts, %(reason)s FROM spent
)
UPDATE broker.deliveries d
SET visible_at = clock_timestamp() + make_interval(secs => g.pause), reason = %(reason)s
FROM given g, broker.queues q
WHERE d.queue = %(queue)s AND d.position = g.position AND d.attempts = g.attempts
  AND q.name = d.queue AND d.attempts < q.max_attempts;

-- name: reject
-- Buries what is leased to the caller, with the reason.
WITH gone AS (
    DELETE FROM broker.deliveries d
    USING unnest(%(positions)s::bigint[], %(attempts)s::integer[]) AS g (position, attempts)
    WHERE d.queue = %(queue)s AND d.position = g.position AND d.attempts = g.attempts
    RETURNING d.*
)
INSERT INTO broker.dead_letters (queue, position, message_id, topic, body, attempts, reason)
SELECT queue, position, message_id, topic, body, attempts, %(reason)s FROM gone;

-- name: answer
-- Settles questions and keeps their answers; a second answer is dropped.
WITH settled AS (
    DELETE FROM broker.deliveries d
    USING unnest(%(positions)s::bigint[], %(bodies)s::bytea[]) AS g (position, body)
    WHERE d.queue = %(queue)s AND d.position = g.position AND d.question_until IS NOT NULL
    RETURNING d.message_id, g.body
), kept AS (
    INSERT INTO broker.answers (question_id, body) SELECT message_id, body FROM settled ON CONFLICT DO NOTHING
)
SELECT pg_notify('pharos_broker_answers', message_id::text) FROM settled;

-- name: take_answers
-- Takes the answers of questions, as far as there are any.
DELETE FROM broker.answers WHERE question_id = ANY (%(ids)s::uuid[]) RETURNING question_id, body;

-- name: dead_letters
-- What was buried in a queue, oldest first.
SELECT message_id, topic, body, attempts, reason, died_at
FROM broker.dead_letters WHERE queue = %(queue)s ORDER BY position LIMIT %(limit)s;

-- name: depth
-- How much waits in a queue, and how much is buried.
SELECT (SELECT count(*) FROM broker.deliveries WHERE queue = %(queue)s) AS waiting,
       (SELECT count(*) FROM broker.dead_letters WHERE queue = %(queue)s) AS dead;
