-- Allocations, their sightings and the receipts of reports (ledger P1–P12, P37).
CREATE SCHEMA provisioning;

SELECT pharos.create_aggregate_store('provisioning');

CREATE TABLE provisioning.allocation_sightings (
    allocation_id uuid PRIMARY KEY,
    site          text COLLATE "C" NOT NULL,
    project_id    uuid,
    version       integer     NOT NULL CHECK (version >= 1),
    revision      integer     NOT NULL CHECK (revision BETWEEN 1 AND version),
    standing      "char"      NOT NULL CHECK (standing IN ('l', 'w', 'r')),
    content       uuid        NOT NULL,
    seen_at       timestamptz NOT NULL CHECK (isfinite(seen_at))
) WITH (fillfactor = 50);

COMMENT ON TABLE provisioning.allocation_sightings IS
    'One row an allocation, moved by every change and renewed by every unchanged report. Only seen_at changes each
     minute, and it has no index: such an update stays in its page (HOT).';
COMMENT ON COLUMN provisioning.allocation_sightings.version IS
    'The version of aggregate_versions that content and standing belong to. Every change moves it: a sighting that
     waited for a change finds another content and renews nothing (P8).';
COMMENT ON COLUMN provisioning.allocation_sightings.standing IS
    'l live; w waits for its Project, never renewed by content (P12); r retired, never renewed.';
COMMENT ON COLUMN provisioning.allocation_sightings.content IS
    'First 128 bits of SHA-256 over the canonical encoding of what the last report said of the resource.';

-- Never changes once proven, so sightings stay HOT beside it.
CREATE INDEX allocation_sightings_of_project ON provisioning.allocation_sightings (project_id, allocation_id)
    WHERE project_id IS NOT NULL;

CREATE TABLE provisioning.reports (
    site        text COLLATE "C" NOT NULL,
    report_id   uuid        NOT NULL,
    digest      bytea       NOT NULL CHECK (octet_length(digest) = 32),
    answers     bytea       NOT NULL,
    received_at timestamptz NOT NULL CHECK (isfinite(received_at)),
    CONSTRAINT reports_pkey PRIMARY KEY (site, report_id)
);

COMMENT ON TABLE provisioning.reports IS
    'What each report was told, so that a retry hears the same. Forgotten after some days: receipts of changes stay.';

CREATE INDEX reports_by_age ON provisioning.reports (site, received_at);

-- The owner process alone writes (P37).
SELECT pharos.grant_aggregate_store('provisioning', 'pharos_resource_provisioning');
GRANT SELECT, INSERT, UPDATE ON provisioning.allocation_sightings TO pharos_resource_provisioning;
GRANT SELECT, INSERT, DELETE ON provisioning.reports TO pharos_resource_provisioning;
