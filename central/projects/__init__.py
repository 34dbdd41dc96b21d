"""The Party and Project view kept from Beto (ledger P13–P20)."""
