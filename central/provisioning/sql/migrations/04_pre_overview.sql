-- What the overview page reads (O1).
GRANT USAGE ON SCHEMA provisioning TO pharos_overview;
GRANT SELECT ON provisioning.aggregate_heads, provisioning.aggregate_versions, provisioning.allocation_sightings,
    provisioning.account_sets, provisioning.accounts
    TO pharos_overview;
