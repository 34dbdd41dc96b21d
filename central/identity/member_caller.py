"""Who calls the member API: the subject of the bearer token (E6)."""

from dataclasses import dataclass

from central.identity.claims import TokenRefused
from central.identity.verifier import TokenVerifier
from central.kernel.bearer import unauthenticated
from central.kernel.http import bearer_token
from central.kernel.times import Clock


@dataclass(frozen=True, slots=True)
class MemberCaller:
    """Reads the bearer of the request at hand."""

    verifier: TokenVerifier
    clock: Clock

    def __call__(self) -> str:
        """The member. Raises the 401 problem, and `Unavailable` (503) where the issuer cannot be asked."""
        try:
            return self.verifier.member(bearer_token(), self.clock())
        except TokenRefused as refused:
            raise unauthenticated(f"{refused}; sign in again") from None
