-- Schema 1 of the reporter's journal.
-- What was applied to each association, for which directory entry. Without the association's comment it is no evidence.
CREATE TABLE applied (
  association_id INTEGER PRIMARY KEY,
  entry_uuid TEXT NOT NULL,
  party_id TEXT NOT NULL,
  binding_id TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation > 0),
  applied_at TEXT NOT NULL
) STRICT;

-- Reports on their way, byte for byte. `tried`: it may have reached central, so it stays until central answers.
-- `subjects`: a JSON list of what the report speaks of.
CREATE TABLE outbox (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  report_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('reports', 'account-sets', 'accounts')),
  subjects TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  body BLOB NOT NULL,
  made_at TEXT NOT NULL,
  tried_at TEXT
) STRICT;

PRAGMA user_version = 1;
