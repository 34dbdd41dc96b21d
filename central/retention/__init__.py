"""Accounts kept for work that was accepted (ledger P27–P29)."""
