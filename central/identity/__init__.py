"""Who a member is: OIDC bearer tokens of one pinned issuer (ledger E4, E6, X5)."""
