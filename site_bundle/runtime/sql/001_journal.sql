-- Schema 1 of the Runtime's journal. No token and no credential is in any table (X5).
CREATE TABLE feed (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  site TEXT,
  accepted TEXT,
  current TEXT,
  cursor INTEGER NOT NULL DEFAULT 0 CHECK (cursor >= 0),
  -- 1: central did not know a position it gave out itself; even the accepted id is another history until it is accepted anew.
  rewound INTEGER NOT NULL DEFAULT 0 CHECK (rewound IN (0, 1)),
  -- Part of the names of drop folders, so that nobody else can guess them.
  salt TEXT NOT NULL,
  draining INTEGER NOT NULL DEFAULT 0 CHECK (draining IN (0, 1)),
  statement BLOB
) STRICT;
INSERT INTO feed (only_row, salt) VALUES (1, lower(hex(randomblob(16))));

-- Every command ever received, by id: each is handled once, whatever history lists it again.
CREATE TABLE commands (
  command_id TEXT PRIMARY KEY,
  attempt_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  act TEXT NOT NULL CHECK (act IN ('submit', 'cancel', 'cleanup')),
  body BLOB NOT NULL,
  valid_until TEXT NOT NULL,
  received_at TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'received' CHECK (state IN ('received', 'intent', 'submitted', 'refused', 'ended')),
  intent_at TEXT,
  job_id TEXT,
  cluster TEXT,
  submitted_at TEXT,
  missing_since TEXT,
  code TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX commands_open ON commands (sequence) WHERE state IN ('received', 'intent', 'submitted');
CREATE INDEX commands_by_attempt ON commands (attempt_id);

-- What central is to be told: the same bytes until it has them.
CREATE TABLE words (
  command_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('ack', 'result')),
  body BLOB NOT NULL,
  delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1)),
  refusal TEXT,
  PRIMARY KEY (command_id, kind)
) STRICT;
CREATE INDEX words_waiting ON words (command_id) WHERE delivered = 0;

PRAGMA user_version = 1;
