-- Leases of periodic passes: one at work at a time, whatever number of replicas runs (O3).

CREATE TABLE pharos.leases (
    name       text COLLATE "C" CONSTRAINT leases_pkey PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_.-]{0,127}$'),
    token      bigint      NOT NULL CHECK (token >= 1),
    begun_at   timestamptz NOT NULL CHECK (isfinite(begun_at)),
    held_until timestamptz CHECK (isfinite(held_until)),
    ended_at   timestamptz CHECK (isfinite(ended_at)),
    missed     bigint      NOT NULL DEFAULT 0 CHECK (missed >= 0)
);

COMMENT ON COLUMN pharos.leases.token IS 'Counts the passes that began: the fencing token of each.';
COMMENT ON COLUMN pharos.leases.held_until IS 'Nobody else begins before; null once the pass has ended.';
COMMENT ON COLUMN pharos.leases.missed IS 'How many intervals went by without a pass having begun in them.';

GRANT USAGE ON SCHEMA pharos TO pharos_resource_provisioning_reader;
GRANT SELECT ON pharos.migrations TO pharos_resource_provisioning_reader;
GRANT SELECT, INSERT, UPDATE ON pharos.leases TO pharos_resource_provisioning;
GRANT SELECT ON pharos.leases TO pharos_operator;
