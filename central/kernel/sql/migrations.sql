-- name: lock_migrator
-- Tries to become the only migrator of this database; held until the connection closes.
SELECT pg_try_advisory_lock(7305808869232650612) AS held;

-- name: transaction_settings
-- Holds for one migration: its objects belong to the owner, and it never queues others behind its own waiting.
SET LOCAL ROLE pharos_central_owner;
SET LOCAL lock_timeout = '4s';
SET LOCAL statement_timeout = '60s';
SET LOCAL search_path = pg_catalog, pg_temp;

-- name: make_ledger
-- The ledger of applied files; the first thing the owner owns.
CREATE SCHEMA IF NOT EXISTS pharos;
CREATE TABLE IF NOT EXISTS pharos.migrations (
    package text COLLATE "C" NOT NULL,
    number integer NOT NULL CHECK (number >= 1),
    phase text NOT NULL CHECK (phase IN ('pre', 'post')),
    name text NOT NULL,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    applied_at timestamptz NOT NULL DEFAULT transaction_timestamp(),
    PRIMARY KEY (package, number)
);

-- name: ledger_exists
-- Whether any migration ever ran here.
SELECT to_regclass('pharos.migrations') IS NOT NULL AS made;

-- name: applied
-- Every applied file.
SELECT package, number, phase, name, digest FROM pharos.migrations ORDER BY package, number;

-- name: record
-- Notes one applied file.
INSERT INTO pharos.migrations (package, number, phase, name, digest)
VALUES (%(package)s, %(number)s, %(phase)s, %(name)s, %(digest)s);
