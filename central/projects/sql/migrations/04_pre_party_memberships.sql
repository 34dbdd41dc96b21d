-- A person's memberships are read by the person, too (P30, O1).
CREATE INDEX memberships_of_party ON projects.memberships (party_id, project_id);
