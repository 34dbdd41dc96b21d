"""The site's LDAP directory over its local socket: one identity, single-value changes, three outcomes."""
