-- Who reads allocations and accounts beside their owner (P30, P37, O1).
GRANT USAGE ON SCHEMA provisioning TO pharos_resource_provisioning_reader, pharos_operator;
GRANT SELECT ON provisioning.aggregate_heads, provisioning.aggregate_versions, provisioning.allocation_sightings,
    provisioning.account_sets, provisioning.accounts
    TO pharos_resource_provisioning_reader, pharos_operator;
