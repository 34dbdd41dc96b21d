"""Members' SSH keys and the account each goes to (ledger E6, E3, S7)."""
