-- name: take
-- Begins a pass if none is at work and an interval has passed since the last one began; counts those left out.
INSERT INTO pharos.leases AS l (name, token, begun_at, held_until)
VALUES (%(name)s, 1, clock_timestamp(), clock_timestamp() + make_interval(secs => %(hold)s))
ON CONFLICT (name) DO UPDATE
SET token = l.token + 1,
    missed = l.missed
             + greatest(0, floor(extract(epoch FROM clock_timestamp() - l.begun_at) / nullif(%(every)s::float8, 0))
                           ::bigint - 1),
    begun_at = excluded.begun_at, held_until = excluded.held_until, ended_at = NULL
WHERE coalesce(l.held_until <= clock_timestamp(), true)
  AND l.begun_at <= clock_timestamp() - make_interval(secs => %(every)s)
RETURNING token, missed;

-- name: give_back
-- Ends a pass; nothing happens if another one has begun meanwhile.
UPDATE pharos.leases SET held_until = NULL, ended_at = clock_timestamp()
WHERE name = %(name)s AND token = %(token)s;
