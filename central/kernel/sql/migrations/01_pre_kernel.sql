-- What every context's migrations stand on.

ALTER DEFAULT PRIVILEGES FOR ROLE pharos_central_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

GRANT USAGE ON SCHEMA pharos TO pharos_site_api, pharos_member_api, pharos_operator;
GRANT SELECT ON pharos.migrations TO pharos_site_api, pharos_member_api, pharos_operator;

-- Makes a context's schema and in it the tables of its aggregate store (P7, X7).
CREATE FUNCTION pharos.create_aggregate_store(context text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', context);
    EXECUTE format($ddl$
        CREATE TABLE %1$I.aggregate_heads (
            kind text COLLATE "C" NOT NULL,
            id uuid NOT NULL,
            version integer NOT NULL CHECK (version >= 1),
            digest bytea NOT NULL CHECK (octet_length(digest) = 32),
            CONSTRAINT aggregate_heads_pkey PRIMARY KEY (kind, id)
        ) WITH (fillfactor = 70);
        CREATE TABLE %1$I.aggregate_versions (
            kind text COLLATE "C" NOT NULL,
            id uuid NOT NULL,
            version integer NOT NULL CHECK (version >= 1),
            command_id uuid NOT NULL,
            snapshot json NOT NULL,
            digest bytea NOT NULL CHECK (octet_length(digest) = 32),
            recorded_at timestamptz NOT NULL CHECK (isfinite(recorded_at)),
            CONSTRAINT aggregate_versions_pkey PRIMARY KEY (kind, id, version)
        );
        CREATE TABLE %1$I.receipts (
            command_id uuid NOT NULL,
            request_digest bytea NOT NULL CHECK (octet_length(request_digest) = 32),
            kind text COLLATE "C" NOT NULL,
            id uuid NOT NULL,
            version integer NOT NULL CHECK (version >= 0),
            answer bytea NOT NULL,
            recorded_at timestamptz NOT NULL CHECK (isfinite(recorded_at)),
            CONSTRAINT receipts_pkey PRIMARY KEY (command_id)
        );
    $ddl$, context);
END
$function$;

-- Lets a process role decide commands in a context: versions and receipts can only be added.
CREATE FUNCTION pharos.grant_aggregate_store(context text, process text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', context, process);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I.aggregate_heads TO %I', context, process);
    EXECUTE format('GRANT SELECT, INSERT ON %1$I.aggregate_versions, %1$I.receipts TO %2$I', context, process);
END
$function$;

REVOKE EXECUTE ON FUNCTION pharos.create_aggregate_store(text), pharos.grant_aggregate_store(text, text) FROM PUBLIC;
