-- Members' offline consents, sealed with keys outside the database (ledger E5).
CREATE TABLE execution.consents (
    party        uuid PRIMARY KEY,
    sealed       bytea       NOT NULL CHECK (length(sealed) BETWEEN 1 AND 65536),
    consented_at timestamptz NOT NULL CHECK (isfinite(consented_at)),
    refreshed_at timestamptz NOT NULL CHECK (isfinite(refreshed_at)),
    ended_at     timestamptz CHECK (isfinite(ended_at))
) WITH (fillfactor = 70);

COMMENT ON COLUMN execution.consents.sealed IS 'Tokens, encrypted; nothing of them is readable here.';

GRANT SELECT, INSERT, UPDATE ON execution.consents TO pharos_project_api, pharos_site_api;
