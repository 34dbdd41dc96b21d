-- A report may speak of many allocations (ledger P12, P21): its receipt names what each of them was told, in order.
ALTER TABLE provisioning.account_reports DROP CONSTRAINT account_reports_outcome_check;
ALTER TABLE provisioning.account_reports
    ADD CONSTRAINT account_reports_outcome_check CHECK (outcome ~ '^[a-z_]+(,[a-z_]+)*$' AND length(outcome) <= 32768);

COMMENT ON COLUMN provisioning.account_reports.outcome IS
    'What became of each set of the report, in its order, separated by commas.';
