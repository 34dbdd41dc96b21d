"""The administrator's guide, "Taking it all off": its commands as they are written."""

import re

from tests.journeys.releases import ROOT

BLOCK = re.compile(r"<!-- taking off: (\w+) -->\n```sh\n(.*?)```", re.DOTALL)


def written() -> dict[str, str]:
    """Shell blocks of the section by their name, in the guide's order."""
    return dict(BLOCK.findall((ROOT / "docs/administrator.md").read_text(encoding="utf-8")))


def taking_off() -> str:
    """All of them for one shell that stops at the first command that fails."""
    return "set -eu\n" + "\n".join(written().values())
