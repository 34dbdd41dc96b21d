-- What the overview page reads (O1).
GRANT USAGE ON SCHEMA ssh_access TO pharos_overview;
GRANT SELECT ON ssh_access.member_keys, ssh_access.feeds, ssh_access.changes TO pharos_overview;
