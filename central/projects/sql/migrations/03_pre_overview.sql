-- What the overview page reads (O1).
GRANT USAGE ON SCHEMA projects TO pharos_overview;
GRANT SELECT ON projects.scopes, projects.items, projects.project_bindings, projects.party_bindings, projects.memberships
    TO pharos_overview;
