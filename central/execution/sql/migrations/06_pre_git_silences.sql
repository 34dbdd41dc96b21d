-- Which Git hosts are silent, told from one pass of the worker to the next and to who explains a wait (S2, O1, O3).

CREATE TABLE execution.git_silences (
    purpose text        NOT NULL,
    host    text        NOT NULL CHECK (length(host) > 0),
    since   timestamptz NOT NULL CHECK (isfinite(since)),
    seen    timestamptz NOT NULL CHECK (isfinite(seen) AND seen >= since),
    what    text        NOT NULL,
    PRIMARY KEY (purpose, host)
);

COMMENT ON TABLE execution.git_silences IS
    'Git hosts nobody answered for when they were asked last: since when, when and how that was seen last.';

GRANT SELECT, INSERT, UPDATE (seen, what), DELETE ON execution.git_silences TO pharos_execution;
GRANT SELECT ON execution.git_silences TO pharos_operator, pharos_overview;

-- Runs whose output is awaited are listed by id.
CREATE INDEX runs_awaiting_output ON execution.runs (run_id) WHERE awaits;
DROP INDEX execution.runs_to_confirm;
