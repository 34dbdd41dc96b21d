-- Schema 2 of the reporter's journal.
-- What the directory last showed under each name. Empty `dn`: right below the people's base under that uid. Empty
-- `group_dn`: no group; `group_gid` NULL: in the group by memberUid. `gone`: asked for by name and proven absent.
-- `accepted`: an administrator says that what is not shown of it is absent.
CREATE TABLE people (
  username TEXT PRIMARY KEY,
  dn TEXT NOT NULL,
  group_dn TEXT NOT NULL,
  group_gid INTEGER,
  gone INTEGER NOT NULL CHECK (gone IN (0, 1)),
  accepted INTEGER NOT NULL CHECK (accepted IN (0, 1)),
  changed_at TEXT NOT NULL
) STRICT;

-- Absences an administrator accepted by hand; never deleted.
CREATE TABLE acceptances (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  username TEXT NOT NULL,
  accepted_by TEXT NOT NULL,
  reason TEXT NOT NULL,
  accepted_at TEXT NOT NULL
) STRICT;

PRAGMA user_version = 2;
