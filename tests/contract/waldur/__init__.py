"""The Waldur simulator against Waldur's own client, and the faults a reader must see through."""
