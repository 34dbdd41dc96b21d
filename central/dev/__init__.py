"""`pharos-central dev`: central and its stand-ins on one machine, without root; never in production (X8)."""
