"""The stages' templates, read once and filled for a stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.domain.script import Places, filled, talks_to_git, values_of
from site_bundle.runtime.domain.stage import Stage

_FOLDER = Path(__file__).parents[1] / "scripts"


@cache
def template(name: str) -> str:
    """The text of `scripts/<name>.sh`."""
    return (_FOLDER / f"{name}.sh").read_text("utf-8")


def load_templates() -> None:
    """Reads all of them: before a process gives up root, if it does."""
    for name in ("common", "git", "stage-in", "compute", "stage-out", "askpass"):
        template(name)


@dataclass(frozen=True, slots=True)
class Scripts:
    """Renders the script of a stage; it holds no credential (K08)."""

    grants: ScratchGrants
    scratch: Path

    def render(self, stage: Stage) -> str:
        action = stage.command.submit
        grant = drop = ""
        if action.repository is not None:
            named = self.grants.grant(stage.command.attempt_id, action.repository.url)
            grant = str(self.grants.place(named))
            drop = f"{grant}/{named.drop}"
        common = template("common") + (template("git") if talks_to_git(action.stage) else "")
        places = Places(str(self.scratch), grant, drop)
        values = values_of(stage.command, action, places)
        return filled(template(action.stage.value), values | {"COMMON": filled(common, values).rstrip("\n")})
