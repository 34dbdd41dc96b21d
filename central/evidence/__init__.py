"""Evidence that central gives a Site: signed statements that a contract was accepted (ledger I12)."""
