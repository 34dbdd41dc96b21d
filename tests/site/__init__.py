"""The site bundle against a real slapd and a strict Site API."""
