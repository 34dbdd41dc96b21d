-- The earlier position of Beto's that was refused: what an operator may accept after a restore (P14).
ALTER TABLE projects.scopes ADD COLUMN refused_position bigint;
COMMENT ON COLUMN projects.scopes.refused_position IS
    'Beto spoke of this earlier moment since the scope last matched: a replica that lags, or a restored copy.';
