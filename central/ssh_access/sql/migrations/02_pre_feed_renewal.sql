-- The operator draws a feed's identity anew after a restore (ledger E3).
GRANT UPDATE (feed) ON ssh_access.feeds TO pharos_operator;
