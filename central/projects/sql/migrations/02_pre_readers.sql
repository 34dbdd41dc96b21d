-- Who reads the view beside its owner (P30, P37, O1).
GRANT USAGE ON SCHEMA projects TO pharos_resource_provisioning_reader, pharos_operator;
GRANT SELECT ON projects.scopes, projects.items, projects.party_bindings, projects.memberships
    TO pharos_resource_provisioning_reader;
GRANT SELECT ON projects.scopes, projects.items, projects.project_bindings, projects.party_bindings, projects.memberships
    TO pharos_operator;
