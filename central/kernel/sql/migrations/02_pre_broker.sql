-- The PostgreSQL queue behind the Broker port, and the receipts of its consumers (P13, X7).

CREATE SCHEMA broker;

CREATE TABLE broker.queues (
    name         text COLLATE "C" CONSTRAINT queues_pkey PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_.-]{0,127}$'),
    max_attempts integer     NOT NULL CHECK (max_attempts BETWEEN 1 AND 1000),
    declared_at  timestamptz NOT NULL DEFAULT transaction_timestamp()
);

CREATE TABLE broker.bindings (
    topic text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL REFERENCES broker.queues (name) ON DELETE CASCADE,
    CONSTRAINT bindings_pkey PRIMARY KEY (topic, queue)
);

CREATE TABLE broker.deliveries (
    queue          text COLLATE "C" NOT NULL,
    position       bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    message_id     uuid        NOT NULL,
    topic          text COLLATE "C" NOT NULL,
    body           bytea       NOT NULL CHECK (octet_length(body) <= 1048576),
    attempts       integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    visible_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    question_until timestamptz,
    reason         text,
    CONSTRAINT deliveries_pkey PRIMARY KEY (queue, position)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

COMMENT ON COLUMN broker.deliveries.attempts IS
    'How often it was handed out; also the fence: what was handed out before cannot settle it any more.';
COMMENT ON COLUMN broker.deliveries.visible_at IS
    'Nobody gets it before: the end of a lease while it is out, of the pause after a refusal otherwise.';
COMMENT ON COLUMN broker.deliveries.question_until IS 'A question whose asker waits no longer is dropped.';

CREATE TABLE broker.dead_letters (
    queue      text COLLATE "C" NOT NULL,
    position   bigint      NOT NULL,
    message_id uuid        NOT NULL,
    topic      text COLLATE "C" NOT NULL,
    body       bytea       NOT NULL,
    attempts   integer     NOT NULL,
    reason     text        NOT NULL,
    died_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dead_letters_pkey PRIMARY KEY (queue, position)
);

CREATE TABLE broker.answers (
    question_id uuid CONSTRAINT answers_pkey PRIMARY KEY,
    body        bytea       NOT NULL CHECK (octet_length(body) <= 1048576),
    answered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Who may do what: `publish` a topic; `consume`, `ask` or `answer` at a queue.
CREATE TABLE broker.enrolments (
    identity text COLLATE "C" NOT NULL,
    act      text COLLATE "C" NOT NULL CHECK (act IN ('publish', 'consume', 'ask', 'answer')),
    name     text COLLATE "C" NOT NULL,
    CONSTRAINT enrolments_pkey PRIMARY KEY (identity, act, name)
);

CREATE FUNCTION broker.allowed(identity text, act text, name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN EXISTS (
    SELECT FROM broker.enrolments e
    WHERE e.identity = allowed.identity AND e.act = allowed.act AND e.name = allowed.name
);

ALTER TABLE broker.deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE broker.dead_letters ENABLE ROW LEVEL SECURITY;

CREATE POLICY consumers ON broker.deliveries
    USING (broker.allowed(current_user, 'consume', queue) OR broker.allowed(current_user, 'answer', queue))
    WITH CHECK (broker.allowed(current_user, 'consume', queue) OR broker.allowed(current_user, 'answer', queue));
CREATE POLICY publishers ON broker.deliveries FOR INSERT WITH CHECK (
    broker.allowed(current_user, 'publish', topic)
    OR (question_until IS NOT NULL AND broker.allowed(current_user, 'ask', queue))
);
CREATE POLICY consumers ON broker.dead_letters
    USING (broker.allowed(current_user, 'consume', queue) OR broker.allowed(current_user, 'answer', queue))
    WITH CHECK (broker.allowed(current_user, 'consume', queue) OR broker.allowed(current_user, 'answer', queue));

-- Lets a login role do one thing at the broker.
CREATE FUNCTION broker.enrol(identity text, act text, name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    INSERT INTO broker.enrolments VALUES (identity, act, name) ON CONFLICT DO NOTHING;
    EXECUTE format('GRANT USAGE ON SCHEMA broker TO %I', identity);
    EXECUTE format('GRANT EXECUTE ON FUNCTION broker.allowed(text, text, text) TO %I', identity);
    EXECUTE format('GRANT SELECT ON broker.queues, broker.bindings TO %I', identity);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON broker.deliveries TO %I', identity);
    EXECUTE format('GRANT SELECT, INSERT ON broker.dead_letters TO %I', identity);
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON broker.answers TO %I', identity);
END
$function$;

-- Makes a durable queue, or lets it stand; its topics become exactly these.
CREATE FUNCTION broker.declare_queue(queue text, topics text[], attempts integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    INSERT INTO broker.queues (name, max_attempts) VALUES (queue, attempts)
    ON CONFLICT (name) DO UPDATE SET max_attempts = excluded.max_attempts;
    DELETE FROM broker.bindings b WHERE b.queue = declare_queue.queue AND b.topic <> ALL (topics);
    INSERT INTO broker.bindings (topic, queue) SELECT t, declare_queue.queue FROM unnest(topics) t
    ON CONFLICT DO NOTHING;
END
$function$;

-- Makes the table of a context's consumer receipts, and lets a process add to it and forget old ones.
CREATE FUNCTION pharos.create_inbox(context text, process text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    EXECUTE format($ddl$
        CREATE TABLE %1$I.consumer_receipts (
            consumer text COLLATE "C" NOT NULL,
            message_id uuid NOT NULL,
            received_at timestamptz NOT NULL CHECK (isfinite(received_at)),
            CONSTRAINT consumer_receipts_pkey PRIMARY KEY (consumer, message_id)
        );
        CREATE INDEX consumer_receipts_by_age ON %1$I.consumer_receipts (received_at);
        GRANT SELECT, INSERT, DELETE ON %1$I.consumer_receipts TO %2$I;
    $ddl$, context, process);
END
$function$;

REVOKE EXECUTE ON FUNCTION broker.enrol(text, text, text), broker.declare_queue(text, text[], integer),
    broker.allowed(text, text, text), pharos.create_inbox(text, text) FROM PUBLIC;
