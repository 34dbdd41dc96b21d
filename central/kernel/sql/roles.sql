-- Run by the migrator before the migrations, every time: makes what is missing, changes nothing that exists.
--
-- pharos_central_owner   owns every schema and table; nobody logs in as it (the migrator uses SET ROLE)
-- pharos_site_api        the Site API process
-- pharos_member_api      the member API process
-- pharos_operator        the operator's command line (grants, evidence, explanations)
-- pharos_resource_provisioning          the owner processes, intake and worker, alone in writing its tables (P7, P37)
-- pharos_resource_provisioning_views    the same processes at the broker: Beto's view, and questions to Beto (X12)
-- pharos_resource_provisioning_queries  the worker at the broker: accepted work, and questions to its owners (X12)
-- pharos_resource_provisioning_reader   the member API: reads what P30 needs, and asks Beto at the broker (P37)
-- pharos_project_api     the Project API process: writes what members ask of Runs
-- pharos_execution       the worker of Runs: confirms outputs, holds and resumes, publishes accepted work
-- pharos_overview        the operators' page: reads and changes nothing
--
-- Login roles are made without a password: an administrator or `pharos-central dev` sets one (X5). Timeouts stand
-- on the roles because a transaction pooler keeps no session state (F05).
DO $roles$
DECLARE
    login text;
BEGIN
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pharos_central_owner') THEN
            CREATE ROLE pharos_central_owner NOLOGIN;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;  -- roles are the server's: another database's migrator was quicker
    END;
    FOREACH login IN ARRAY ARRAY[
        'pharos_site_api', 'pharos_member_api', 'pharos_operator', 'pharos_resource_provisioning',
        'pharos_resource_provisioning_views', 'pharos_resource_provisioning_queries',
        'pharos_resource_provisioning_reader', 'pharos_project_api', 'pharos_execution', 'pharos_overview'
    ] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = login);
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN NOINHERIT', login);
            EXECUTE format('ALTER ROLE %I SET statement_timeout = ''30s''', login);
            EXECUTE format('ALTER ROLE %I SET lock_timeout = ''10s''', login);
            EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = ''60s''', login);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- as above
        END;
    END LOOP;
    IF NOT pg_has_role(current_user, 'pharos_central_owner', 'MEMBER') THEN
        GRANT pharos_central_owner TO CURRENT_USER;
    END IF;
END
$roles$;

DO $database$
BEGIN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CREATE ON DATABASE %I TO pharos_central_owner', current_database());
    EXECUTE format(
        'GRANT CONNECT ON DATABASE %I TO pharos_central_owner, pharos_site_api, pharos_member_api, '
        'pharos_operator, pharos_resource_provisioning, pharos_resource_provisioning_views, '
        'pharos_resource_provisioning_queries, pharos_resource_provisioning_reader, '
        'pharos_project_api, pharos_execution, pharos_overview',
        current_database()
    );
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
END
$database$;
