"""Names of things in accepted work. Ids are their owners'."""

from typing import NewType
from uuid import UUID

Owner = NewType("Owner", str)
"""A context that accepts work, such as `execution`."""
ItemId = NewType("ItemId", UUID)
ProjectId = NewType("ProjectId", UUID)
PartyId = NewType("PartyId", UUID)
BindingId = NewType("BindingId", UUID)
