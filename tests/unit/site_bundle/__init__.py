"""The site bundle's rules, without a directory or a network."""
