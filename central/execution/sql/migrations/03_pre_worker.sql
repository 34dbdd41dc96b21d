-- The worker of Runs: what it publishes, answers, revokes and holds (ledger P27, P29, S2, S15, O3).

ALTER TABLE execution.runs
    ADD COLUMN binding_id            uuid,
    ADD COLUMN generation            bigint NOT NULL DEFAULT 0 CHECK (generation >= 0),
    ADD COLUMN management_generation bigint NOT NULL DEFAULT 0 CHECK (management_generation >= 0);

COMMENT ON COLUMN execution.runs.binding_id IS
    'The account the Run was accepted with, and its generations; null for Runs accepted before these were kept here.';

CREATE INDEX runs_live ON execution.runs (run_id) WHERE state IN ('accepted', 'waiting', 'running', 'cancelling');

CREATE TABLE execution.maintenance (
    site         text PRIMARY KEY CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    statement_id uuid        NOT NULL,
    observed_at  timestamptz NOT NULL CHECK (isfinite(observed_at)),
    draining     boolean     NOT NULL,
    until        timestamptz CHECK (isfinite(until)),
    reason       text CHECK (length(reason) BETWEEN 1 AND 200),
    stated_at    timestamptz NOT NULL CHECK (isfinite(stated_at)),
    CHECK (draining = (reason IS NOT NULL) AND (draining OR until IS NULL))
);

COMMENT ON TABLE execution.maintenance IS 'Each Site''s latest statement about new work, by its own clock.';

CREATE TABLE execution.credentials (
    credential_id uuid PRIMARY KEY,
    run_id        uuid        NOT NULL REFERENCES execution.runs,
    purpose       text        NOT NULL,
    asked_at      timestamptz NOT NULL CHECK (isfinite(asked_at)),
    revoked_at    timestamptz CHECK (isfinite(revoked_at))
);

COMMENT ON TABLE execution.credentials IS
    'Credentials asked of the Git host, written before the host is asked, so that each is taken back; no secret.';
CREATE INDEX credentials_outstanding ON execution.credentials (credential_id) WHERE revoked_at IS NULL;

CREATE TABLE execution.inventories (
    snapshot_id uuid PRIMARY KEY,
    taken_at    timestamptz NOT NULL CHECK (isfinite(taken_at))
);

CREATE TABLE execution.inventory_items (
    snapshot_id uuid  NOT NULL REFERENCES execution.inventories ON DELETE CASCADE,
    item_id     uuid  NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (snapshot_id, item_id)
);

COMMENT ON TABLE execution.inventories IS
    'Accepted work as an asker reads it page by page, whichever replica answers (P29).';

GRANT SELECT ON execution.maintenance TO pharos_project_api, pharos_execution, pharos_operator;
GRANT SELECT, INSERT, UPDATE ON execution.maintenance TO pharos_site_api;
GRANT SELECT, INSERT, UPDATE ON execution.credentials TO pharos_site_api, pharos_execution;
GRANT SELECT, INSERT, DELETE ON execution.inventories, execution.inventory_items TO pharos_execution;
GRANT SELECT ON execution.credentials TO pharos_operator;

-- Consents are the member's to give and the Site API's to use; the worker sees whether one stands.
REVOKE ALL ON execution.consents FROM pharos_project_api;
GRANT USAGE ON SCHEMA execution TO pharos_member_api;
GRANT SELECT, INSERT, UPDATE ON execution.consents TO pharos_member_api;
ALTER TABLE execution.consents ADD COLUMN code_digest bytea CHECK (octet_length(code_digest) = 32);
COMMENT ON COLUMN execution.consents.code_digest IS
    'SHA-256 of the code it came from: the same request again is told the same (X7).';
GRANT SELECT (party, consented_at, refreshed_at, ended_at) ON execution.consents TO pharos_execution, pharos_operator;

-- Why a Run is in its state (O1).
GRANT SELECT ON execution.aggregate_heads, execution.aggregate_versions TO pharos_operator;

GRANT USAGE ON SCHEMA pharos TO pharos_project_api, pharos_execution;
GRANT SELECT ON pharos.migrations TO pharos_project_api, pharos_execution;
GRANT SELECT, INSERT, UPDATE ON pharos.leases TO pharos_execution;
