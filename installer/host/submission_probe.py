"""What ``sbatch`` would send as the runtime's user: asked by a child with that identity (S2)."""

from dataclasses import dataclass

from installer.host.commands import RunAs, Runner
from installer.host.ldap_probe import ask_child


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One submission to a listener instead of the controller.

    ``heard``: something was sent; ``token``: the job's environment held SLURM_JWT; ``environment``: it held
    what was given to the job; ``words``: sbatch's last line.
    """

    heard: bool
    token: bool
    environment: bool
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submissions:
    """The usual way, and the one the runtime uses (``--export-file=FD``)."""

    usual: Submission
    safe: Submission


def ask_submission(run: Runner, sbatch: str, *, run_as: RunAs, timeout: float) -> Submissions | str:
    """What both ways would have sent, or why that is not known."""
    program = "installer.host.submission_child"
    return ask_child(run, program, {"sbatch": sbatch}, Submissions, run_as=run_as, timeout=timeout)
