"""The user-visible marker of a stage's job: how it is found again whatever crashed (S1, A12, A33).

It is the job's name, which queue and accounting both keep (accounting keeps comments only where the site says
so), and its comment as well. The command's id is in it, and central asks for every issue of a stage under
another id, so a marker names one job.
"""

from __future__ import annotations

from site_bundle.runtime.domain.command import Command

PREFIX = "pharos"


def marker_of(command: Command) -> str:
    """`pharos:<attempt>:<stage>:<command>`; TypeError for a command that has no job."""
    return f"{PREFIX}:{command.attempt_id}:{command.submit.stage.value}:{command.command_id}"
