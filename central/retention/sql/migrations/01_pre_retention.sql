-- Accepted work and the standing of recovery (ledger P27–P29).
CREATE SCHEMA retention;

CREATE TABLE retention.accepted_work (
    owner                 text COLLATE "C" NOT NULL CHECK (owner ~ '^[a-z][a-z0-9_-]{0,31}$'),
    item_id               uuid        NOT NULL,
    kind                  text COLLATE "C" NOT NULL CHECK (kind IN ('launch', 'run', 'pipeline')),
    revision              bigint      NOT NULL CHECK (revision >= 1),
    state                 text COLLATE "C" NOT NULL CHECK (state IN ('required', 'released')),
    project_id            uuid        NOT NULL,
    party_id              uuid        NOT NULL,
    site                  text COLLATE "C" NOT NULL CHECK (site ~ '^[a-z][a-z0-9-]{0,31}$'),
    binding_id            uuid        NOT NULL,
    generation            bigint      NOT NULL CHECK (generation >= 1),
    management_generation bigint      NOT NULL CHECK (management_generation >= 0),
    deadline              timestamptz NOT NULL CHECK (isfinite(deadline)),
    told_at               timestamptz NOT NULL CHECK (isfinite(told_at)),
    CONSTRAINT accepted_work_pkey PRIMARY KEY (owner, item_id)
) WITH (fillfactor = 80);
CREATE INDEX accepted_work_required ON retention.accepted_work
    (site, project_id, party_id, binding_id, generation, management_generation) WHERE state = 'required';
COMMENT ON TABLE retention.accepted_work IS
    'Never deleted: an item no owner lists is kept until its release is told, a released one so that nothing told late '
    'requires it again.';
COMMENT ON COLUMN retention.accepted_work.deadline IS 'Shown only: a passed deadline is not a release.';

CREATE FUNCTION retention.keep_releases() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    RAISE EXCEPTION 'a release is final, a revision never goes back and accepted work is never deleted'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'accepted_work_final';
END
$function$;
CREATE TRIGGER accepted_work_back BEFORE UPDATE ON retention.accepted_work
    FOR EACH ROW WHEN (NEW.revision < OLD.revision OR (OLD.state = 'released' AND NEW.state <> 'released'))
    EXECUTE FUNCTION retention.keep_releases();
CREATE TRIGGER accepted_work_kept BEFORE DELETE ON retention.accepted_work
    FOR EACH ROW EXECUTE FUNCTION retention.keep_releases();

CREATE TABLE retention.recovery (
    only_one    boolean     CONSTRAINT recovery_pkey PRIMARY KEY DEFAULT true CHECK (only_one),
    phase       text COLLATE "C" NOT NULL DEFAULT 'none' CHECK (phase IN ('none', 'running', 'standing', 'failed')),
    epoch       bigint      NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    owners      text[] COLLATE "C" NOT NULL DEFAULT '{}',
    asked_at    timestamptz CHECK (isfinite(asked_at)),
    held_until  timestamptz CHECK (isfinite(held_until)),
    alive_until timestamptz CHECK (isfinite(alive_until)),
    reason      text
);
COMMENT ON TABLE retention.recovery IS 'One row: whether a list of retained accounts is complete.';
COMMENT ON COLUMN retention.recovery.epoch IS 'Counts starts, passes and doubts: the fencing token of a pass (O3).';
INSERT INTO retention.recovery DEFAULT VALUES;

SELECT pharos.create_inbox('retention', 'pharos_resource_provisioning');
GRANT USAGE ON SCHEMA retention TO pharos_resource_provisioning;
GRANT SELECT, INSERT, UPDATE ON retention.accepted_work TO pharos_resource_provisioning;
GRANT SELECT, UPDATE ON retention.recovery TO pharos_resource_provisioning;
