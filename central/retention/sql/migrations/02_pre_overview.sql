-- Who reads accepted work beside its owner (P28, O1).
GRANT USAGE ON SCHEMA retention TO pharos_operator, pharos_overview;
GRANT SELECT ON retention.accepted_work, retention.recovery TO pharos_operator, pharos_overview;
