-- Attempts after the first, refused cleanups, who used which permission, feeds renewed (ledger E1, E3, E7, P27, P28).

ALTER TABLE execution.runs
    ADD COLUMN item_id         uuid,
    ADD COLUMN waits_since     timestamptz CHECK (isfinite(waits_since)),
    ADD COLUMN cleanup_refusal text;

COMMENT ON COLUMN execution.runs.item_id IS
    'The accepted-work item of its latest attempt; null for the first one, whose item has the Run''s own id.';
COMMENT ON COLUMN execution.runs.cleanup_refusal IS 'Why the Site did not clean up: the account is kept until then.';

CREATE TABLE execution.past_items (
    item_id  uuid PRIMARY KEY,
    run_id   uuid    NOT NULL REFERENCES execution.runs,
    revision integer NOT NULL CHECK (revision > 0)
);

COMMENT ON TABLE execution.past_items IS
    'Accepted-work items of earlier attempts, released at this revision: a release is final, so a retry has a new item.';

CREATE TABLE execution.audit (
    subject    uuid        NOT NULL,
    permission text        NOT NULL,
    actor      uuid        NOT NULL,
    first_at   timestamptz NOT NULL CHECK (isfinite(first_at)),
    last_at    timestamptz NOT NULL CHECK (isfinite(last_at)),
    PRIMARY KEY (subject, permission, actor)
) WITH (fillfactor = 70);

COMMENT ON TABLE execution.audit IS
    'Who used which permission on a Run, or on a Project''s Runs: the first time, and the last to the minute (E7).';

GRANT SELECT, INSERT ON execution.past_items TO pharos_project_api;
GRANT SELECT ON execution.past_items TO pharos_execution, pharos_operator;
GRANT SELECT ON execution.audit TO pharos_overview;
GRANT SELECT, INSERT, UPDATE (last_at) ON execution.audit TO pharos_project_api, pharos_site_api;
GRANT SELECT ON execution.audit TO pharos_operator;
GRANT UPDATE (item_id, waits_since, cleanup_refusal) ON execution.runs
    TO pharos_project_api, pharos_site_api, pharos_execution;

-- An operator settles a cleanup the Site never will, and draws a feed's identity anew after a restore.
SELECT pharos.grant_aggregate_store('execution', 'pharos_operator');
GRANT INSERT, UPDATE (state, reason, changed_at, revision, awaits, released, item_id, waits_since, cleanup_refusal)
    ON execution.runs TO pharos_operator;
GRANT UPDATE (acknowledged_at) ON execution.commands TO pharos_operator;
GRANT UPDATE (feed) ON execution.feeds TO pharos_operator;
