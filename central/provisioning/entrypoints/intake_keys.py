"""The intake keys of Sites: who reports, told by the credential alone (P11).

A key opens its own Site's prefix only: behind another's it is `not_found`, as if nothing were there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from flask import request

from central.kernel.bearer import unauthenticated
from central.kernel.http import bearer_token
from central.kernel.problems import NOT_FOUND, Problem
from central.kernel.secret_digests import same_bytes, secret_digest
from central.kernel.site_names import Site
from central.kernel.wire_schema import check_schema


@dataclass(frozen=True, slots=True)
class IntakeKeys:
    """SHA-256 of every key with its Site; the keys themselves are not kept."""

    digests: tuple[tuple[Site, bytes], ...]

    @classmethod
    def of(cls, keys: Mapping[Site, Sequence[str]]) -> Self:
        """The keys of every Site. Raises `ValueError` if two Sites share one."""
        digests = tuple((site, secret_digest(key)) for site, held in keys.items() for key in held)
        if len({digest for _, digest in digests}) != len(digests):
            raise ValueError("two Sites share an intake key; each needs its own")
        return cls(digests)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The Sites that have a key, in order."""
        return tuple(dict.fromkeys(site for site, _ in self.digests))

    def admit(self, site: Site) -> None:
        """Lets the present request in, or raises: credential, then schema range, in the wire's order."""
        self.check(site, bearer_token())
        check_schema(request.headers.get("Pharos-Schema"))

    def check(self, site: Site, token: str) -> None:
        """Raises 401 for an unknown key and 404 for another Site's."""
        given = secret_digest(token)
        holders = [holder for holder, known in self.digests if same_bytes(known, given)]
        if not holders:
            raise unauthenticated("the bearer token is no intake key")
        if holders != [site]:
            raise Problem(NOT_FOUND, "no such path")
