-- Native accounts as Sites confirm them (ledger P21–P24).
CREATE TABLE provisioning.account_sets (
    allocation_id uuid PRIMARY KEY,
    site          text COLLATE "C" NOT NULL,
    version       integer     NOT NULL CHECK (version >= 1),
    content       uuid        NOT NULL,
    accounts      integer     NOT NULL CHECK (accounts BETWEEN 0 AND 10000),
    observed_at   timestamptz NOT NULL CHECK (isfinite(observed_at))
) WITH (fillfactor = 50);

COMMENT ON TABLE provisioning.account_sets IS
    'One row an allocation: the complete set that stands. An unchanged report moves observed_at alone, which has no
     index: such an update stays in its page (HOT).';
COMMENT ON COLUMN provisioning.account_sets.content IS
    'First 128 bits of SHA-256 over the canonical encoding of the whole set.';
COMMENT ON COLUMN provisioning.account_sets.accounts IS
    'How many rows of provisioning.accounts are not absent; another count is corruption.';

CREATE TABLE provisioning.accounts (
    allocation_id uuid        NOT NULL,
    party_id      uuid        NOT NULL,
    binding_id    uuid        NOT NULL,
    generation    bigint      NOT NULL CHECK (generation >= 1),
    native_uid    text COLLATE "C" NOT NULL CHECK (length(native_uid) BETWEEN 1 AND 255),
    name          text COLLATE "C" NOT NULL,
    uid_number    integer     CHECK (uid_number >= 1),
    state         "char"      NOT NULL CHECK (state IN ('r', 'i', 'a')),
    first_seen_at timestamptz NOT NULL CHECK (isfinite(first_seen_at)),
    changed_at    timestamptz NOT NULL CHECK (isfinite(changed_at)),
    CONSTRAINT accounts_pkey PRIMARY KEY (allocation_id, party_id, binding_id, generation, native_uid)
);

COMMENT ON TABLE provisioning.accounts IS
    'Every account a Site ever confirmed, by its very incarnation (P23): made again, it is a new row. No row is ever
     deleted: absent ones and older generations are evidence.';
COMMENT ON COLUMN provisioning.accounts.state IS
    'r ready; i incomplete; a absent from the set that stands.';
COMMENT ON COLUMN provisioning.accounts.changed_at IS
    'The observation that last changed the row; the set alone says when it was last confirmed.';

CREATE UNIQUE INDEX accounts_present ON provisioning.accounts (allocation_id, native_uid) WHERE state <> 'a';

CREATE TABLE provisioning.account_reports (
    site        text COLLATE "C" NOT NULL,
    report_id   uuid        NOT NULL,
    digest      bytea       NOT NULL CHECK (octet_length(digest) = 32),
    outcome     text COLLATE "C" NOT NULL CHECK (outcome IN ('recorded', 'unchanged')),
    received_at timestamptz NOT NULL CHECK (isfinite(received_at)),
    CONSTRAINT account_reports_pkey PRIMARY KEY (site, report_id)
);

COMMENT ON TABLE provisioning.account_reports IS
    'What each report was told, so that a retry hears the same and renews nothing (X7). Forgotten after some days.';

CREATE INDEX account_reports_by_age ON provisioning.account_reports (site, received_at);

-- The owner process alone writes (P37).
GRANT SELECT, INSERT, UPDATE ON provisioning.account_sets, provisioning.accounts TO pharos_resource_provisioning;
GRANT SELECT, INSERT, DELETE ON provisioning.account_reports TO pharos_resource_provisioning;
