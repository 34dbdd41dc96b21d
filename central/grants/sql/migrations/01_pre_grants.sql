-- Site grants (ledger E3, I18). The secret itself is never here.
CREATE SCHEMA site_grants;

CREATE TABLE site_grants.grants (
    grant_id      uuid PRIMARY KEY,
    site          text        NOT NULL CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    scopes        text[]      NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ '{commands,ssh-access}'),
    secret_digest bytea       NOT NULL CHECK (length(secret_digest) = 32),
    issued_at     timestamptz NOT NULL CHECK (isfinite(issued_at)),
    expires_at    timestamptz CHECK (isfinite(expires_at)),
    revoked_at    timestamptz CHECK (isfinite(revoked_at)),
    last_used_at  timestamptz CHECK (isfinite(last_used_at))
);

CREATE INDEX grants_of_site ON site_grants.grants (site, issued_at);

GRANT USAGE ON SCHEMA site_grants TO pharos_operator, pharos_site_api;
GRANT SELECT, INSERT ON site_grants.grants TO pharos_operator;
GRANT UPDATE (revoked_at) ON site_grants.grants TO pharos_operator;
GRANT SELECT ON site_grants.grants TO pharos_site_api;
GRANT UPDATE (last_used_at) ON site_grants.grants TO pharos_site_api;
