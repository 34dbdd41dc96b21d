"""Names of resource components in canonical units (X3; docs/wire.md, rule 6)."""

import re
from typing import Final

COMPONENT: Final = re.compile(r"cpu|memory|storage|ephemeral_storage|gpu\.[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
"""`cpu` millicores; `memory`, `storage`, `ephemeral_storage` bytes; `gpu.<model>` whole devices."""
