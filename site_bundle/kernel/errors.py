"""The one error root of the site bundle: a stable code, what was found, what was wanted, the remedy."""

from __future__ import annotations


class SiteError(Exception):
    """A refusal an operator can act on. `code` is stable; no field ever holds a secret (X5)."""

    exit_status = 3

    def __init__(self, code: str, *, found: str, wanted: str = "", remedy: str = "") -> None:
        super().__init__(found)
        self.code = code
        self.found = found
        self.wanted = wanted
        self.remedy = remedy

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.found}"]
        if self.wanted:
            parts.append(f"wanted: {self.wanted}")
        if self.remedy:
            parts.append(f"remedy: {self.remedy}")
        return "; ".join(parts)


class SettingsError(SiteError):
    """Settings that cannot be used (exit status 2: trying again does not help)."""

    exit_status = 2


class UnavailableError(SiteError):
    """Neither a value nor proven absence (X1): it could not be read or done now; trying again may help."""


class RefusedError(SiteError):
    """A definite refusal by the other side; trying again unchanged gives the same."""
