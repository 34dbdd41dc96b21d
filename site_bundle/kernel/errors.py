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

    def __reduce__(self) -> tuple[object, ...]:
        """As it is, whatever its class asks for when it is made (`kernel.helper`)."""
        return _as_it_was, (type(self), self.args, dict(vars(self)))

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.found}"]
        if self.wanted:
            parts.append(f"wanted: {self.wanted}")
        if self.remedy:
            parts.append(f"remedy: {self.remedy}")
        return "; ".join(parts)


def _as_it_was(kind: type[SiteError], args: tuple[object, ...], told: dict[str, object]) -> SiteError:
    error = kind.__new__(kind, *args)
    vars(error).update(told)
    return error


class SettingsError(SiteError):
    """Settings that cannot be used (exit status 2: trying again does not help)."""

    exit_status = 2


class UnavailableError(SiteError):
    """Neither a value nor proven absence (X1): it could not be read or done now; trying again may help."""


class RefusedError(SiteError):
    """A definite refusal by the other side; trying again unchanged gives the same."""


_PEER_KINDS = {
    "unreachable": "no answer over HTTPS",
    "tls": "no certificate for this name, signed by the configured CA",
    "slow": "the answer did not end in time",
    "unavailable": "status 408, 425, 429 or 5xx: tried again",
    "redirect": "a redirect, which is never followed",
    "refused": "a definite 4xx without a code of its own",
    "unauthorized": "401",
    "forbidden": "403",
}


def codes_of(prefix: str) -> dict[str, str]:
    """The codes a peer of this prefix can give, with their meaning (docs/errors.md)."""
    return {f"{prefix}_{kind}": meaning for kind, meaning in _PEER_KINDS.items()}


CODES = codes_of("site_api")
