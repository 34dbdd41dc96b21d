-- name: receipt
-- The receipt of one command.
SELECT command_id, request_digest, kind, id, version, answer, recorded_at
FROM {schema}.receipts WHERE command_id = %(command_id)s;

-- name: latest
-- The heads, the version rows they point to and the newest versions there are, read to be held against each other:
-- in one statement, for two would see two moments. One row for each id asked for.
SELECT k.id, h.version AS head_version, h.digest AS head_digest, v.version, v.digest, v.snapshot::text AS snapshot,
       (SELECT max(n.version) FROM {schema}.aggregate_versions n WHERE n.kind = %(kind)s AND n.id = k.id) AS newest
FROM unnest(%(ids)s::uuid[]) k (id)
LEFT JOIN {schema}.aggregate_heads h ON h.kind = %(kind)s AND h.id = k.id
LEFT JOIN {schema}.aggregate_versions v ON v.kind = h.kind AND v.id = h.id AND v.version = h.version;

-- name: lock_head
-- Makes every other decision about this aggregate wait until this transaction ends.
SELECT version FROM {schema}.aggregate_heads WHERE kind = %(kind)s AND id = %(id)s FOR UPDATE;

-- name: add_version
-- One new version; versions are never changed.
INSERT INTO {schema}.aggregate_versions (kind, id, version, command_id, snapshot, digest, recorded_at)
VALUES (%(kind)s, %(id)s, %(version)s, %(command_id)s, %(snapshot)s::text::json, %(digest)s, %(now)s);

-- name: add_head
-- The head of an aggregate's first version.
INSERT INTO {schema}.aggregate_heads (kind, id, version, digest) VALUES (%(kind)s, %(id)s, 1, %(digest)s);

-- name: move_head
-- Compare-and-set: moves the head only from the version that was decided upon (F09).
UPDATE {schema}.aggregate_heads SET version = %(version)s, digest = %(digest)s
WHERE kind = %(kind)s AND id = %(id)s AND version = %(version)s - 1;

-- name: add_receipt
-- The durable answer to one command.
INSERT INTO {schema}.receipts (command_id, request_digest, kind, id, version, answer, recorded_at)
VALUES (%(command_id)s, %(request_digest)s, %(kind)s, %(id)s, %(version)s, %(answer)s, %(now)s);
