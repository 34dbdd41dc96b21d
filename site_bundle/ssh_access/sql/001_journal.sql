-- Schema 1 of the agent's journal.
CREATE TABLE feed (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  site TEXT,
  accepted TEXT,
  current TEXT,
  cursor INTEGER NOT NULL DEFAULT 0 CHECK (cursor >= 0),
  complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  -- 1: central did not know a position it gave out itself; even the accepted id is another history until it is accepted anew.
  rewound INTEGER NOT NULL DEFAULT 0 CHECK (rewound IN (0, 1))
) STRICT;
INSERT INTO feed (only_row) VALUES (1);

-- The latest desired state of each key, and what became of it. Rows stay: a revoked key that comes back is revoked again.
CREATE TABLE desired_keys (
  key_id TEXT PRIMARY KEY,
  change_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  feed TEXT NOT NULL, -- empty: of a history from before central was rewound
  act TEXT NOT NULL CHECK (act IN ('present', 'absent')),
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  username TEXT NOT NULL,
  uid_number INTEGER NOT NULL,
  entry_uuid TEXT NOT NULL,
  received_at TEXT NOT NULL,
  -- 1: central's accepted history does not list this key any more; it is removed and not reported.
  unlisted INTEGER NOT NULL DEFAULT 0 CHECK (unlisted IN (0, 1)),
  settled INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
  outcome TEXT,
  code TEXT,
  decided_at TEXT,
  reported_change TEXT,
  reported_outcome TEXT,
  reported_code TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX desired_keys_by_target ON desired_keys (entry_uuid);
CREATE INDEX desired_keys_unsettled ON desired_keys (entry_uuid) WHERE settled = 0;
CREATE INDEX desired_keys_present ON desired_keys (feed) WHERE act = 'present';
-- The condition is that of `unreported`, word for word: only then is the index used.
CREATE INDEX desired_keys_unreported ON desired_keys (feed, decided_at)
 WHERE decided_at IS NOT NULL AND unlisted = 0
   AND (reported_change IS NOT change_id OR reported_outcome IS NOT outcome OR reported_code IS NOT code);

-- At most one report is on its way; it is sent byte for byte until central's receipt is in.
CREATE TABLE report (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  report_id TEXT NOT NULL,
  body BLOB NOT NULL,
  made_at TEXT NOT NULL
) STRICT;
CREATE TABLE report_results (
  position INTEGER PRIMARY KEY,
  change_id TEXT NOT NULL UNIQUE,
  key_id TEXT NOT NULL,
  outcome TEXT NOT NULL,
  code TEXT
) STRICT;

PRAGMA user_version = 1;
