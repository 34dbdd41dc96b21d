-- Runs, each Site's feed of commands, and the receipts of both (ledger E1-E4, E7, X7).
CREATE SCHEMA execution;

SELECT pharos.create_aggregate_store('execution');

CREATE TABLE execution.runs (
    run_id      uuid PRIMARY KEY,
    project_id  uuid        NOT NULL,
    site        text        NOT NULL CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    created_by  uuid        NOT NULL,
    state       text        NOT NULL
                CHECK (state IN ('accepted', 'waiting', 'running', 'cancelling', 'completed', 'failed', 'cancelled',
                                 'timed_out')),
    reason      text,
    created_at  timestamptz NOT NULL CHECK (isfinite(created_at)),
    changed_at  timestamptz NOT NULL CHECK (isfinite(changed_at)),
    deadline    timestamptz NOT NULL CHECK (isfinite(deadline)),
    revision    integer     NOT NULL CHECK (revision > 0),
    awaits      boolean     NOT NULL,
    released    boolean     NOT NULL,
    published   integer     NOT NULL DEFAULT 0 CHECK (published BETWEEN 0 AND revision)
) WITH (fillfactor = 70);

COMMENT ON TABLE execution.runs IS
    'One row a Run for lists and passes; the Run itself is its latest version in the aggregate store.';
COMMENT ON COLUMN execution.runs.awaits IS 'The Git server has still to confirm its output.';
COMMENT ON COLUMN execution.runs.published IS 'The revision its accepted work was last published at (P27).';

CREATE INDEX runs_of_project ON execution.runs (project_id, created_at DESC, run_id DESC);
CREATE INDEX runs_to_confirm ON execution.runs (changed_at) WHERE awaits;
CREATE INDEX runs_to_publish ON execution.runs (run_id) WHERE published < revision;
CREATE INDEX runs_past_deadline ON execution.runs (deadline)
    WHERE state IN ('accepted', 'waiting', 'running', 'cancelling');

CREATE TABLE execution.feeds (
    site text PRIMARY KEY CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    feed uuid   NOT NULL DEFAULT gen_random_uuid(),
    head bigint NOT NULL DEFAULT 0 CHECK (head >= 0)
);

COMMENT ON TABLE execution.feeds IS 'Each Site''s history of commands: its identity and its last sequence.';

CREATE TABLE execution.commands (
    site            text        NOT NULL REFERENCES execution.feeds,
    sequence        bigint      NOT NULL CHECK (sequence > 0),
    command_id      uuid        NOT NULL UNIQUE,
    run_id          uuid        NOT NULL REFERENCES execution.runs,
    attempt_id      uuid        NOT NULL,
    action          jsonb       NOT NULL,
    issued_at       timestamptz NOT NULL CHECK (isfinite(issued_at)),
    acknowledged_at timestamptz CHECK (isfinite(acknowledged_at)),
    PRIMARY KEY (site, sequence)
);

CREATE INDEX commands_unacknowledged ON execution.commands (site, sequence) WHERE acknowledged_at IS NULL;

-- Who may do what (P37): wishes are the Project API's, the Site's words are the Site API's, the rest the worker's.
SELECT pharos.grant_aggregate_store('execution', 'pharos_project_api');
SELECT pharos.grant_aggregate_store('execution', 'pharos_site_api');
SELECT pharos.grant_aggregate_store('execution', 'pharos_execution');
GRANT SELECT, INSERT ON execution.runs, execution.feeds, execution.commands
    TO pharos_project_api, pharos_site_api, pharos_execution;
GRANT UPDATE (state, reason, changed_at, revision, awaits, released) ON execution.runs
    TO pharos_project_api, pharos_site_api, pharos_execution;
GRANT UPDATE (published) ON execution.runs TO pharos_execution;
GRANT UPDATE (head) ON execution.feeds TO pharos_project_api, pharos_site_api, pharos_execution;
GRANT UPDATE (acknowledged_at) ON execution.commands TO pharos_project_api, pharos_site_api, pharos_execution;

GRANT USAGE ON SCHEMA execution TO pharos_operator;
GRANT SELECT ON execution.runs, execution.feeds, execution.commands TO pharos_operator;
