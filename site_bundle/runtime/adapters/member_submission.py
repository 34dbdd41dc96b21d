"""sbatch as the member: what its answer means (S1, S2, S12, A33, A34)."""

from __future__ import annotations

from site_bundle.runtime.application.ports import (
    Accepted,
    Job,
    MemberToken,
    Outcome,
    Rejected,
    UnknownOutcome,
)
from site_bundle.runtime.domain.rejections import rejection
from site_bundle.slurm.client import SlurmClient
from site_bundle.slurm.errors import SlurmUnavailableError
from site_bundle.slurm.submission import SubmitJob, submitted_job


class MemberSubmission:
    """The port Submission. `version` decides which texts are definite; None: of a form nobody knows."""

    def __init__(self, client: SlurmClient, *, version: tuple[int, int] | None) -> None:
        self._client = client
        self._version = version

    def submit(self, job: Job, token: MemberToken) -> Outcome:
        asked = job.asked
        native = SubmitJob(
            name=job.marker,
            account=job.account,
            partition=job.partition,
            cpus=asked.cpus,
            memory_mib=asked.memory_mib,
            gpus=asked.gpus,
            seconds=asked.seconds,
            script=job.script,
            environment=job.environment,
        )
        try:
            exited = self._client.submit(native, token.token)
        except SlurmUnavailableError:
            return UnknownOutcome()
        found = submitted_job(exited)
        if found is not None:
            return Accepted(found.job_id, found.cluster)
        code = rejection(self._version, exited.complaint) if exited.status != 0 else None
        return Rejected(code) if code else UnknownOutcome()
