-- The overview page only reads (O1): no role it has may change a row.
GRANT USAGE ON SCHEMA pharos TO pharos_overview;
GRANT SELECT ON pharos.migrations TO pharos_overview;
