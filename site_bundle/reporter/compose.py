"""The composition root: the only place that wires the reporter's adapters."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from site_bundle.directory.connection import DirectoryLimits
from site_bundle.directory.loopback import LoopbackConnection
from site_bundle.kernel.health import Health
from site_bundle.kernel.helper import Helper
from site_bundle.kernel.https import HttpsLimits, HttpsOrigin
from site_bundle.kernel.logs import Log
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.release import release_id
from site_bundle.kernel.runtime import draw, nothing, utc_now
from site_bundle.kernel.site_api import SiteApi
from site_bundle.kernel.status_files import StatusFiles
from site_bundle.kernel.stop import Stop
from site_bundle.reporter.adapters.intake import INTAKE, IntakeClient
from site_bundle.reporter.adapters.ldap_directory import LdapDirectory
from site_bundle.reporter.adapters.slurm_cluster import SlurmCluster
from site_bundle.reporter.adapters.sqlite_journal import (
    JOURNAL_NAME,
    SqliteReportJournal,
    open_report_journal,
)
from site_bundle.reporter.adapters.waldur_resources import WALDUR, WaldurLimits, WaldurResources
from site_bundle.reporter.adapters.wire_reports import MAX_ACCOUNTS_BYTES, SetEncoding, encode_report, halves
from site_bundle.reporter.application.apply_identities import ApplyIdentities
from site_bundle.reporter.application.check_usage import CheckUsage
from site_bundle.reporter.application.make_reports import MakeReports, ReportLimits
from site_bundle.reporter.application.observe_site import Observed, ObserveSite
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.application.prove_absence import ProveAbsence
from site_bundle.reporter.application.read_outside import Outside, Reading, ReadOutside
from site_bundle.reporter.application.send_reports import Answered, Intake, SendReports, Sent
from site_bundle.reporter.domain.presence import Claim, Presence
from site_bundle.reporter.entrypoints.loop import Loop, LoopLimits
from site_bundle.reporter.entrypoints.status_document import Telemetry
from site_bundle.reporter.entrypoints.telling import Telling, needed_checks
from site_bundle.reporter.settings import ReporterSettings
from site_bundle.slurm.client import SlurmClient, SlurmLimits

HTTP_LIMITS = HttpsLimits(answer_bytes=MAX_ACCOUNTS_BYTES)
READ_SECONDS, SEND_SECONDS = 240.0, 60.0  # below the watchdog's; each exchange has a limit of its own
PROVE_SECONDS = 60.0
READ, PROVE, SEND = "read", "prove", "send"


@dataclass(frozen=True, slots=True)
class OutsideByHelper:
    """`Reading`, done by the helper while Slurm answers this process."""

    helper: Helper

    def begin(self) -> None:
        self.helper.ask(READ)

    def whole(self) -> Outside:
        found: Outside = self.helper.answer(READ_SECONDS)
        return found

    def prove(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        answers: tuple[Presence, ...] = self.helper.call(PROVE, tuple(claims), seconds=PROVE_SECONDS)
        return answers


@dataclass(frozen=True, slots=True)
class IntakeByHelper:
    """`Intake`, spoken to by the helper."""

    helper: Helper

    def send(self, report: Report) -> Answered:
        answered: Answered = self.helper.call(SEND, report, seconds=SEND_SECONDS)
        return answered


@dataclass(frozen=True, slots=True)
class Sources:
    """The adapters of a process, called by it (`doctor`) or by the helper; `close` ends their connections."""

    waldur: WaldurResources
    slurm: SlurmClient
    cluster: SlurmCluster
    connection: LoopbackConnection
    directory: LdapDirectory
    intake: IntakeClient
    outside: Reading
    sending: Intake
    helper: Helper
    closing: ExitStack

    def close(self) -> None:
        self.closing.close()


def sources_of(
    settings: ReporterSettings, environment: Mapping[str, str], stop: Stop, *, helped: bool
) -> Sources:
    """Everything the reporter asks; nothing is asked yet. `helped`: a helper speaks to all but Slurm."""
    closing = ExitStack()
    waldur = HttpsOrigin(
        peer=WALDUR,
        origin=settings.waldur_origin,
        ca_file=settings.waldur_ca_file,
        limits=HTTP_LIMITS,
        waiting=stop.interruptible,
    )
    intake = SiteApi(
        origin=settings.intake_url,
        credential=settings.intake_key,
        ca_file=settings.intake_ca_file,
        limits=HTTP_LIMITS,
        waiting=stop.interruptible,
        peer=INTAKE,
    )
    connection = LoopbackConnection(
        url=settings.ldap_url,
        bind_dn=settings.bind_dn,
        password=settings.password,
        limits=DirectoryLimits(),
    )
    for end in (waldur.close, intake.close, connection.close):
        closing.callback(end)
    slurm = SlurmClient(
        commands=settings.slurm_commands,
        environment=environment,
        limits=SlurmLimits(),
        waiting=stop.interruptible,
    )
    directory = LdapDirectory(
        connection,
        people_base=settings.people_base,
        groups_base=settings.groups_base,
        gids=settings.gids,
    )
    resources = WaldurResources(
        waldur,
        prefix=settings.waldur_prefix,
        token=settings.waldur_token,
        offering_id=settings.offering_id,
        http_limits=HTTP_LIMITS,
        limits=WaldurLimits(),
    )
    client = IntakeClient(intake, site=settings.site, instance=settings.instance)
    reading = ReadOutside(resources, directory, client)
    helper = Helper({READ: reading.whole, PROVE: reading.prove, SEND: client.send}, stop.interruptible)
    closing.callback(helper.end)
    return Sources(
        waldur=resources,
        slurm=slurm,
        cluster=SlurmCluster(slurm, cluster=settings.cluster, parent_account=settings.policy.parent_account),
        connection=connection,
        directory=directory,
        intake=client,
        outside=OutsideByHelper(helper) if helped else reading,
        sending=IntakeByHelper(helper) if helped else client,
        helper=helper,
        closing=closing,
    )


def observe_site(
    settings: ReporterSettings,
    sources: Sources,
    journal: SqliteReportJournal,
    *,
    checkpoint: Callable[[str], None] = nothing,
    told: Callable[[], None] = lambda: None,
) -> ObserveSite:
    """The pass."""
    return ObserveSite(
        outside=sources.outside,
        cluster=sources.cluster,
        journal=journal,
        outbox=journal,
        absence=ProveAbsence(sources.outside.prove, journal),
        apply=ApplyIdentities(sources.cluster, journal, settings.observe, checkpoint=checkpoint),
        make=MakeReports(
            instance=settings.instance,
            offering_id=settings.offering_id,
            new_id=uuid.uuid4,
            encode_report=encode_report,
            encode_sets=SetEncoding(),
            limits=ReportLimits(),
        ),
        policy=settings.policy,
        checkpoint=checkpoint,
        told=told,
    )


def send_reports(
    sources: Sources,
    journal: SqliteReportJournal,
    *,
    checkpoint: Callable[[str], None] = nothing,
    told: Callable[[], None] = lambda: None,
) -> SendReports:
    """The delivery."""
    split = partial(halves, new_id=uuid.uuid4)
    return SendReports(sources.sending, journal, split, checkpoint=checkpoint, told=told)


def run_reporter(
    settings: ReporterSettings,
    environment: Mapping[str, str],
    *,
    stop: Stop,
    log: Log,
    limits: LoopLimits,
    checkpoint: Callable[[str], None] = nothing,
) -> None:
    """Runs until it is asked to stop. `checkpoint` is told the name of each durable step (crash tests)."""
    notifier = Notifier(environment)
    # A large journal takes its time to be checked: microseconds, sd_notify(3).
    notifier.send("STATUS=checking the journal", "EXTEND_TIMEOUT_USEC=300000000")
    journal = open_report_journal(settings.state_directory / JOURNAL_NAME)
    sources = sources_of(settings, environment, stop, helped=True)
    telling = Telling(
        log=log,
        health=Health(needed_checks()),
        telemetry=Telemetry(
            release=release_id(),
            pid=os.getpid(),
            since=utc_now(),
            mode="observe" if settings.observe else "apply",
        ),
        files=StatusFiles(settings.runtime_directory),
        notifier=notifier,
        outbox=journal,
        now=utc_now,
        monotonic=time.monotonic,
    )
    loop = Loop(
        observe=observe_site(settings, sources, journal, checkpoint=checkpoint, told=telling.progress),
        send=send_reports(sources, journal, checkpoint=checkpoint, told=telling.progress),
        usage=CheckUsage(sources.cluster),
        outbox=journal,
        commands=lambda: sources.slurm.runs,
        rest=sources.helper.end,
        telling=telling,
        stop=stop,
        limits=limits,
        now=utc_now,
        monotonic=time.monotonic,
        draw=draw,
    )
    try:
        loop.run()
    finally:
        sources.close()
        journal.close()


def run_once(
    settings: ReporterSettings, environment: Mapping[str, str], stop: Stop
) -> tuple[Observed, Sent, int]:
    """One pass and one delivery: what was found, what was sent, and how many commands were run."""
    journal = open_report_journal(settings.state_directory / JOURNAL_NAME)
    sources = sources_of(settings, environment, stop, helped=False)
    try:
        observed = observe_site(settings, sources, journal).run(now=utc_now())
        sent = send_reports(sources, journal).run(now=utc_now())
        return observed, sent, sources.slurm.runs
    finally:
        sources.close()
        journal.close()
