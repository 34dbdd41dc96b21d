-- Which Git hosts are silent (S2). Named parameters; read committed.

-- name: known
SELECT host, since, seen FROM execution.git_silences WHERE purpose = %(purpose)s;

-- name: seen
-- Two replicas' clocks may differ: the later sight counts.
INSERT INTO execution.git_silences AS g (purpose, host, since, seen, what)
VALUES (%(purpose)s, %(host)s, %(now)s, %(now)s, %(what)s)
    ON CONFLICT (purpose, host) DO UPDATE SET seen = greatest(g.seen, EXCLUDED.seen), what = EXCLUDED.what;

-- name: over
DELETE FROM execution.git_silences WHERE purpose = %(purpose)s AND host = ANY (%(hosts)s::text[]);
