"""What a Site's agent saw of one provider resource (P2)."""

from datetime import datetime
from enum import StrEnum
from typing import Final, NewType
from uuid import UUID

from msgspec import Struct

from central.kernel.site_names import Site
from central.provisioning.domain.amounts import Amounts

ProviderProjectRef = NewType("ProviderProjectRef", str)
"""The provider's own name of a Project: opaque; a UUID in its canonical form."""

Content = NewType("Content", str)
"""Names everything a report said of a resource but its time: two observations with equal `Content` are equal.

128 bits as 32 hex digits, made by the canonicalisation the entrypoint names."""


class ProviderState(StrEnum):
    """Waldur's state of a resource, in lower case."""

    CREATING = "creating"
    OK = "ok"
    UPDATING = "updating"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    ERRED = "erred"


TRANSITIONAL: Final = frozenset({ProviderState.CREATING, ProviderState.TERMINATING})
"""The provider still makes or already unmakes the resource: nothing new may start on it. A limit change
(`updating`) is not among them: `changing` tells that from the limits themselves."""


class Observation(Struct, frozen=True, gc=False):
    """One resource in one report. `None` in amounts or names says *not known*, never *nothing* (X1)."""

    site: Site
    resource_id: UUID
    offering_id: UUID
    provider_project_ref: ProviderProjectRef
    native_name: str | None
    state: ProviderState
    paused: bool
    configured: Amounts | None
    applied: Amounts | None
    used: Amounts | None
    observed_at: datetime
    content: Content
