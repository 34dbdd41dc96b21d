"""The composition root: the only place that wires the Runtime's adapters."""

from __future__ import annotations

import grp
import os
import pwd
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from site_bundle.kernel.errors import RefusedError
from site_bundle.kernel.health import Check, Health, Status
from site_bundle.kernel.logs import Log
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.release import release_id
from site_bundle.kernel.runtime import draw, nothing, utc_now
from site_bundle.kernel.site_api import SiteApi, SiteApiLimits
from site_bundle.kernel.status_files import StatusFiles
from site_bundle.kernel.stop import Stop
from site_bundle.runtime.adapters.host_accounts import HostAccounts
from site_bundle.runtime.adapters.member_submission import MemberSubmission
from site_bundle.runtime.adapters.request_files import RequestFiles
from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.adapters.scripts import Scripts, template
from site_bundle.runtime.adapters.site_api_commands import PEER, SiteApiCommands
from site_bundle.runtime.adapters.slurm_jobs import SlurmJobs
from site_bundle.runtime.adapters.sqlite_journal import (
    JOURNAL_NAME,
    SqliteCommandJournal,
    open_command_journal,
)
from site_bundle.runtime.adapters.token_user import CurrentTokenUsers
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result, encode_statement
from site_bundle.runtime.application.begin_stage import BeginStage, Site
from site_bundle.runtime.application.check_owners import CheckOwners
from site_bundle.runtime.application.close_attempt import CloseAttempt
from site_bundle.runtime.application.observe_jobs import ObserveJobs
from site_bundle.runtime.application.poll_commands import PollCommands
from site_bundle.runtime.application.send_words import SendWords
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.rejections import REJECTIONS, known_versions
from site_bundle.runtime.entrypoints.loop import Loop, LoopLimits, UseCases
from site_bundle.runtime.entrypoints.maintenance import Maintenance
from site_bundle.runtime.entrypoints.status_document import Telemetry
from site_bundle.runtime.entrypoints.telling import SLURM, Telling, needed_checks
from site_bundle.runtime.settings import RuntimeSettings
from site_bundle.slurm.client import SlurmClient, SlurmLimits
from site_bundle.slurm.submission import ShowConfiguration, ShowVersion

API_LIMITS = SiteApiLimits()
# Reading an answer takes ten times its size at worst, which stays below the unit's MemoryMax (S10). As many
# are 14,000 jobs in the accounts of open commands, with the longest names and comments Slurm takes (1,024).
SLURM_LIMITS = SlurmLimits(output_bytes=32 << 20)


@dataclass(frozen=True, slots=True)
class Outside:
    """The adapters of a process that ask others; nothing is asked yet."""

    api: SiteApi
    commands: SiteApiCommands
    client: SlurmClient
    jobs: SlurmJobs
    accounts: HostAccounts

    def close(self) -> None:
        self.api.close()


def outside_of(settings: RuntimeSettings, environment: Mapping[str, str], stop: Stop) -> Outside:
    """Site API and Slurm."""
    api = SiteApi(
        origin=settings.site_api_url,
        credential=settings.credential,
        ca_file=settings.ca_file,
        limits=API_LIMITS,
        waiting=stop.interruptible,
        peer=PEER,
    )
    client = SlurmClient(
        commands=settings.slurm_commands,
        environment=environment,
        limits=SLURM_LIMITS,
        waiting=stop.interruptible,
    )
    jobs = SlurmJobs(client, cluster=settings.cluster, fence=draw_fence())
    accounts = HostAccounts(jobs, settings.members_group, group_exists, settings.parent_account)
    return Outside(api, SiteApiCommands(api), client, jobs, accounts)


def draw_fence() -> str:
    """Letters nobody can guess (slurm/fenced.py)."""
    return "@" + "".join(chr(ord("a") + byte % 26) for byte in os.urandom(20)) + "@"


def group_exists(name: str) -> bool:
    """getgrnam(3)."""
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def group_ids(name: str) -> list[int]:
    """The members' group as a supplementary one, as the unit has it; none while it does not resolve."""
    try:
        return [grp.getgrnam(name).gr_gid]
    except KeyError:
        return []


def grants_of(settings: RuntimeSettings, journal: SqliteCommandJournal) -> ScratchGrants:
    """The folder on scratch."""
    return ScratchGrants(settings.grants_root, template("askpass"), settings.repository_ca, journal.salt)


def version_check(version: tuple[int, int] | None) -> Check:
    """Whether the version's rejections were recorded (S12): of another, fewer are definite."""
    if version in REJECTIONS:
        return Check("slurm_version", Status.PASS, "its rejections are known")
    found = f"Slurm {version[0]}.{version[1]:02}" if version else "a version of another form"
    remedy = "run a release of Pharos HPC that knows this version; until then a refused stage waits longer"
    return Check("slurm_version", Status.WARN, found, known_versions(), remedy, "slurm_version_unknown")


def token_users_of(client: SlurmClient) -> CurrentTokenUsers:
    """Whom this Slurm takes a token's bearer for."""
    return CurrentTokenUsers(lambda: client.read(ShowConfiguration()), time.monotonic)


def run_runtime(
    settings: RuntimeSettings,
    environment: Mapping[str, str],
    *,
    stop: Stop,
    log: Log,
    limits: LoopLimits,
    checkpoint: Callable[[str], None] = nothing,
) -> None:
    """Runs until it is asked to stop. `checkpoint` is told the name of each durable step (crash tests).

    RefusedError while an owner is not connected (S6).
    """
    notifier = Notifier(environment)
    # A large journal takes its time to be checked: microseconds, sd_notify(3).
    notifier.send("STATUS=checking the journal", "EXTEND_TIMEOUT_USEC=300000000")
    journal = open_command_journal(settings.state_directory / JOURNAL_NAME)
    outside = outside_of(settings, environment, stop)
    try:
        grants = grants_of(settings, journal)
        require_owners(owners_of(settings, outside, grants))
        version = outside.client.read(ShowVersion())
        telling = _telling(settings, log, notifier, journal)
        # An idle Runtime asks Slurm nothing more (S10), and is ready all the same.
        telling.passed(SLURM, "controller and accounting answer")
        loop = Loop(
            do=_use_cases(
                settings, outside, journal, grants, telling=telling, version=version, checkpoint=checkpoint
            ),
            journal=journal,
            telling=telling,
            stop=stop,
            limits=limits,
            programs=lambda: outside.client.programs,
            now=utc_now,
            monotonic=time.monotonic,
            draw=draw,
        )
        loop.run()
    finally:
        outside.close()
        journal.close_file()


def owners_of(settings: RuntimeSettings, outside: Outside, grants: ScratchGrants | None) -> CheckOwners:
    """What S6 lists."""
    return CheckOwners(
        commands=outside.commands,
        client=outside.client,
        accounts=outside.accounts,
        scratch=grants.probe if grants is not None else None,
        group=settings.members_group,
        cluster=settings.cluster,
        parent_account=settings.parent_account,
        user=lambda: pwd.getpwuid(os.geteuid()).pw_name,
    )


def require_owners(owners: CheckOwners) -> None:
    """RefusedError naming every owner that is not connected."""
    missing = [check for check in owners.run() if check.status in {Status.FAIL, Status.UNKNOWN}]
    if missing:
        raise RefusedError(
            "owners_unconnected",
            found="; ".join(f"{check.id}: {check.found}" for check in missing),
            wanted="every production owner connected (pharos-runtime run --check-owners lists them)",
            remedy=missing[0].remedy,
        )


def _telling(
    settings: RuntimeSettings, log: Log, notifier: Notifier, journal: SqliteCommandJournal
) -> Telling:
    telemetry = Telemetry(
        release=release_id(),
        pid=os.getpid(),
        since=utc_now(),
        mode="observe" if settings.observe else "apply",
    )
    return Telling(
        log=log,
        health=Health(needed_checks()),
        telemetry=telemetry,
        files=StatusFiles(settings.runtime_directory),
        notifier=notifier,
        journal=journal,
        now=utc_now,
        monotonic=time.monotonic,
    )


def _use_cases(
    settings: RuntimeSettings,
    outside: Outside,
    journal: SqliteCommandJournal,
    grants: ScratchGrants,
    *,
    telling: Telling,
    version: tuple[int, int] | None,
    checkpoint: Callable[[str], None],
) -> UseCases:
    words = Words(uuid.uuid4, encode_ack, encode_result)
    begin = BeginStage(
        api=outside.commands,
        journal=journal,
        accounts=outside.accounts,
        grants=grants,
        submission=MemberSubmission(outside.client, version=version),
        render=Scripts(grants, settings.scratch).render,
        words=words,
        site=Site(settings.cluster, settings.staging_partition, settings.compute_partition),
        uids=settings.uids,
        token_user=token_users_of(outside.client).user,
        events=telling,
        observe=settings.observe,
        checkpoint=checkpoint,
    )
    observe = ObserveJobs(
        outside.jobs, journal, grants, words, settings.graces, settings.cluster, telling, checkpoint
    )
    close = CloseAttempt(journal, outside.jobs, grants, words, telling, settings.observe, checkpoint)
    maintenance = Maintenance(
        api=outside.commands,
        journal=journal,
        telling=telling,
        encode=encode_statement,
        new_id=uuid.uuid4,
        requests=RequestFiles(settings.state_directory),
        retry_seconds=30.0,
        monotonic=time.monotonic,
    )
    return UseCases(
        poll=PollCommands(outside.commands, journal, words, settings.observe),
        begin=begin,
        observe=observe,
        close=close,
        send=SendWords(outside.commands, journal, telling, checkpoint),
        maintenance=maintenance,
    )
