"""A development OpenID Connect issuer: `python -m tests.simulators.oidc --help`."""
