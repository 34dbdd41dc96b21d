"""The phases: preflight, install, validate, activate, rollback, recover, status. One use case a file (I1)."""
