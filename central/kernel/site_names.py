"""What a Site is called: its environment's name, such as ``slurm`` (P11, P32)."""

import re
from collections.abc import Collection
from typing import Final, NewType

Site = NewType("Site", str)
"""A Site's environment name; it comes from a credential or a setting, never from a body (P11)."""

SITE_NAME: Final = "[a-z][a-z0-9-]{0,31}"
"""The rule as a regular expression; the tables hold it as a CHECK too."""

_SITE: Final = re.compile(SITE_NAME)


def is_site_name(text: str) -> bool:
    """Whether ``text`` is an environment's name."""
    return _SITE.fullmatch(text) is not None


def no_such_site(text: str, sites: Collection[str]) -> str:
    """What an operator is told of a Site that is not among those of the platform (P32)."""
    return (
        f"{text!r} is no Site of this platform; known are {', '.join(sites) or 'none'}. "
        "A Site is named by its environment (slurm), never by its id (icarus-hpc)"
    )
