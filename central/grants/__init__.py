"""Site grants: who may speak to the Site API, in which scope (ledger E3, I18)."""
