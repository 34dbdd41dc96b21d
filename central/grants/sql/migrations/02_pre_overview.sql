-- What the overview page reads (O1): digests of tokens are in the rows, tokens are not.
GRANT USAGE ON SCHEMA site_grants TO pharos_overview;
GRANT SELECT ON site_grants.grants TO pharos_overview;
