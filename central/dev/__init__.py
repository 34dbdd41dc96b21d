"""`pharos-central dev`: central with its stand-ins on one machine, without root. Never for production (X8)."""
