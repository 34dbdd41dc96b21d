-- Members' keys, each Site's feed of changes, and the receipts of both (ledger E3, E6, X7).
CREATE SCHEMA ssh_access;

SELECT pharos.create_aggregate_store('ssh_access');

CREATE TABLE ssh_access.member_keys (
    key_id      uuid PRIMARY KEY,
    member      text        NOT NULL CHECK (length(member) BETWEEN 1 AND 255),
    site        text        NOT NULL CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
    key_type    text        NOT NULL,
    blob        bytea       NOT NULL,
    bits        integer     NOT NULL,
    username    text        NOT NULL CHECK (username ~ '^[a-z_][a-z0-9._-]{0,31}$'),
    uid_number  integer     NOT NULL CHECK (uid_number > 0),
    entry_uuid  uuid        NOT NULL,
    act         text        NOT NULL CHECK (act IN ('present', 'absent')),
    change_id   uuid        NOT NULL,
    state       text        NOT NULL
                CHECK (state IN ('pending', 'active', 'removing', 'removed', 'refused', 'held')),
    reason      text,
    added_at    timestamptz NOT NULL CHECK (isfinite(added_at)),
    changed_at  timestamptz NOT NULL CHECK (isfinite(changed_at)),
    reported_at timestamptz CHECK (isfinite(reported_at)),
    answered_at timestamptz CHECK (isfinite(answered_at)),
    revision    integer     NOT NULL CHECK (revision > 0),
    CHECK ((act = 'absent') = (state IN ('removing', 'removed')))
) WITH (fillfactor = 70);

COMMENT ON TABLE ssh_access.member_keys IS
    'One row a key, its latest version. answered_at: last observation of change_id; reported_at: of any change.';

-- A member has one blob once at a Site until it is removed (two adds at once: one wins).
CREATE UNIQUE INDEX member_keys_one_standing ON ssh_access.member_keys (member, site, sha256(blob))
    WHERE state <> 'removed';
CREATE INDEX member_keys_of_member ON ssh_access.member_keys (member, added_at, key_id);

CREATE TABLE ssh_access.feeds (
    site text PRIMARY KEY CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    feed uuid   NOT NULL DEFAULT gen_random_uuid(),
    head bigint NOT NULL DEFAULT 0 CHECK (head >= 0)
);

COMMENT ON TABLE ssh_access.feeds IS 'Each Site''s history: its identity and its last sequence.';

CREATE TABLE ssh_access.changes (
    site          text        NOT NULL REFERENCES ssh_access.feeds,
    sequence      bigint      NOT NULL CHECK (sequence > 0),
    change_id     uuid        NOT NULL UNIQUE,
    key_id        uuid        NOT NULL REFERENCES ssh_access.member_keys,
    act           text        NOT NULL CHECK (act IN ('present', 'absent')),
    recorded_at   timestamptz NOT NULL,
    superseded_by bigint,
    PRIMARY KEY (site, sequence)
);

COMMENT ON COLUMN ssh_access.changes.superseded_by IS
    'The later change of the same key, or of the same blob and target, because of which this one is not listed.';

CREATE INDEX changes_listed ON ssh_access.changes (site, sequence) WHERE superseded_by IS NULL;
CREATE INDEX changes_of_key ON ssh_access.changes (key_id);

-- Who may do what (ledger X12): members' wishes are the member API's, the Site's words are the Site API's.
SELECT pharos.grant_aggregate_store('ssh_access', 'pharos_member_api');
GRANT SELECT, INSERT ON ssh_access.member_keys TO pharos_member_api;
GRANT UPDATE (act, change_id, state, reason, changed_at, answered_at, revision) ON ssh_access.member_keys
    TO pharos_member_api;
GRANT SELECT, INSERT, UPDATE ON ssh_access.feeds TO pharos_member_api;
GRANT SELECT, INSERT ON ssh_access.changes TO pharos_member_api;
GRANT UPDATE (superseded_by) ON ssh_access.changes TO pharos_member_api;

SELECT pharos.grant_aggregate_store('ssh_access', 'pharos_site_api');
GRANT SELECT ON ssh_access.member_keys, ssh_access.feeds, ssh_access.changes TO pharos_site_api;
GRANT INSERT ON ssh_access.feeds TO pharos_site_api;
GRANT UPDATE (state, reason, changed_at, reported_at, answered_at, revision) ON ssh_access.member_keys
    TO pharos_site_api;

GRANT USAGE ON SCHEMA ssh_access TO pharos_operator;
GRANT SELECT ON ssh_access.member_keys, ssh_access.feeds, ssh_access.changes TO pharos_operator;
