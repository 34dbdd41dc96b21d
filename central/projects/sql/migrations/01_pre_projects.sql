-- The Party and Project view kept from Beto, and the generations of members (ledger P13–P18).
CREATE SCHEMA projects;

CREATE TABLE projects.scopes (
    scope      text COLLATE "C" CONSTRAINT scopes_pkey PRIMARY KEY
               CHECK (scope IN ('projects', 'parties', 'authorities')),
    phase      text COLLATE "C" NOT NULL DEFAULT 'uninitialised'
               CHECK (phase IN ('uninitialised', 'loading', 'current', 'diverged', 'repairing')),
    epoch      bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    position   bigint CHECK (position >= 0),
    checked_at timestamptz CHECK (isfinite(checked_at)),
    held_until timestamptz CHECK (isfinite(held_until)),
    reason     text
);

COMMENT ON TABLE projects.scopes IS
    'One row a scope. Who applies a message shares its lock; who loads, repairs or compares takes it alone.';
COMMENT ON COLUMN projects.scopes.epoch IS 'Counts loads and repairs: the fencing token of each (O3).';

INSERT INTO projects.scopes (scope) VALUES ('projects'), ('parties'), ('authorities');

-- `item` is Beto's item in its canonical encoding: the fingerprint is over it. The other tables are derived from it.
CREATE TABLE projects.items (
    scope      text COLLATE "C" NOT NULL REFERENCES projects.scopes (scope),
    id         uuid        NOT NULL,
    item       text COLLATE "C" NOT NULL,
    told_at    timestamptz NOT NULL CHECK (isfinite(told_at)),
    by_message boolean     NOT NULL,
    epoch      bigint      NOT NULL,
    CONSTRAINT items_pkey PRIMARY KEY (scope, id)
);

CREATE TABLE projects.project_bindings (
    project_id uuid NOT NULL,
    provider   text COLLATE "C" NOT NULL,
    instance   text COLLATE "C" NOT NULL,
    ref        text COLLATE "C" NOT NULL,
    CONSTRAINT project_bindings_pkey PRIMARY KEY (provider, instance, ref, project_id)
);
CREATE INDEX project_bindings_of_project ON projects.project_bindings (project_id);
COMMENT ON COLUMN projects.project_bindings.ref IS 'In comparable form: a UUID is in lower case with dashes.';

CREATE TABLE projects.party_bindings (
    party_id    uuid NOT NULL,
    binding_id  uuid NOT NULL,
    revision    bigint NOT NULL,
    provider    text COLLATE "C" NOT NULL,
    instance    text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    established boolean NOT NULL,
    CONSTRAINT party_bindings_pkey PRIMARY KEY (party_id, binding_id)
);
CREATE INDEX party_bindings_by_subject ON projects.party_bindings (provider, instance, subject);
CREATE INDEX party_bindings_by_id ON projects.party_bindings (binding_id);
COMMENT ON COLUMN projects.party_bindings.established IS 'A retired Party has no established one.';

CREATE TABLE projects.memberships (
    project_id       uuid    NOT NULL,
    party_id         uuid    NOT NULL,
    generation       bigint  NOT NULL CHECK (generation >= 1),
    binding_id       uuid    NOT NULL,
    binding_revision bigint  NOT NULL,
    present          boolean NOT NULL,
    CONSTRAINT memberships_pkey PRIMARY KEY (project_id, party_id)
);
COMMENT ON TABLE projects.memberships IS
    'Never deleted: a tombstone keeps the generation of a member who left, whatever became of the Project (P17).';

CREATE FUNCTION projects.keep_generations() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    RAISE EXCEPTION 'a generation never goes back and a membership is never deleted'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'memberships_generation';
END
$function$;
CREATE TRIGGER memberships_generation_back BEFORE UPDATE ON projects.memberships
    FOR EACH ROW WHEN (NEW.generation < OLD.generation) EXECUTE FUNCTION projects.keep_generations();
CREATE TRIGGER memberships_kept BEFORE DELETE ON projects.memberships
    FOR EACH ROW EXECUTE FUNCTION projects.keep_generations();

SELECT pharos.create_inbox('projects', 'pharos_resource_provisioning');
GRANT USAGE ON SCHEMA projects TO pharos_resource_provisioning;
GRANT SELECT, UPDATE ON projects.scopes TO pharos_resource_provisioning;
GRANT SELECT, INSERT, UPDATE, DELETE ON projects.items, projects.project_bindings, projects.party_bindings
    TO pharos_resource_provisioning;
GRANT SELECT, INSERT, UPDATE ON projects.memberships TO pharos_resource_provisioning;
