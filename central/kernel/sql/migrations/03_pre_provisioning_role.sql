-- The provisioning intake reads the ledger at its start, as every process does (P7, O2).

GRANT USAGE ON SCHEMA pharos TO pharos_resource_provisioning;
GRANT SELECT ON pharos.migrations TO pharos_resource_provisioning;
