-- A message holds 2 MiB: a Project of 10,000 members is within it (P13, P21). What is there is within it already.
ALTER TABLE broker.deliveries
    DROP CONSTRAINT deliveries_body_check,
    ADD CONSTRAINT deliveries_body_check CHECK (octet_length(body) <= 2097152) NOT VALID;
ALTER TABLE broker.deliveries VALIDATE CONSTRAINT deliveries_body_check;

ALTER TABLE broker.answers
    DROP CONSTRAINT answers_body_check,
    ADD CONSTRAINT answers_body_check CHECK (octet_length(body) <= 2097152) NOT VALID;
ALTER TABLE broker.answers VALIDATE CONSTRAINT answers_body_check;
