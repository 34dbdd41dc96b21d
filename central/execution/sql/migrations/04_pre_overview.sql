-- What the overview page reads (O1); of consents the times alone.
GRANT USAGE ON SCHEMA execution TO pharos_overview;
GRANT SELECT ON execution.runs, execution.feeds, execution.commands, execution.credentials, execution.maintenance,
    execution.aggregate_heads, execution.aggregate_versions
    TO pharos_overview;
GRANT SELECT (party, consented_at, refreshed_at, ended_at) ON execution.consents TO pharos_overview;
