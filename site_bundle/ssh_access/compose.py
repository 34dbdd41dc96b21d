"""The composition root of the running agent: the only place that wires its adapters."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping

from site_bundle.directory.connection import DirectoryLimits, LdapiConnection
from site_bundle.kernel.health import Health
from site_bundle.kernel.logs import Log
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.release import release_id
from site_bundle.kernel.requests import RequestFile
from site_bundle.kernel.runtime import draw, nothing, utc_now
from site_bundle.kernel.site_api import SiteApi, SiteApiLimits
from site_bundle.kernel.status_files import StatusFiles
from site_bundle.kernel.stop import Stop
from site_bundle.ssh_access.adapters.ldap_people import LdapPeople
from site_bundle.ssh_access.adapters.site_api_keys import SiteApiKeys
from site_bundle.ssh_access.adapters.sqlite_journal import open_key_journal
from site_bundle.ssh_access.adapters.wire import encode_results
from site_bundle.ssh_access.application.apply_changes import ApplyChanges
from site_bundle.ssh_access.application.poll_changes import PollChanges
from site_bundle.ssh_access.application.report_results import ReportResults
from site_bundle.ssh_access.entrypoints.agent import Agent, AgentLimits, needed_checks
from site_bundle.ssh_access.entrypoints.status_document import Telemetry
from site_bundle.ssh_access.entrypoints.telling import Telling
from site_bundle.ssh_access.settings import AgentSettings

JOURNAL_NAME = "journal.sqlite"
ACCEPT_NAME = "accept-feed"


def run_agent(
    settings: AgentSettings,
    environment: Mapping[str, str],
    *,
    stop: Stop,
    log: Log,
    limits: AgentLimits,
    checkpoint: Callable[[str], None] = nothing,
) -> None:
    """Runs the agent until it is asked to stop. `checkpoint` is told the name of each durable step (crash
    tests).
    """
    notifier = Notifier(environment)
    # A large journal takes its time to be checked (I06): microseconds, sd_notify(3).
    notifier.send("STATUS=checking the journal", "EXTEND_TIMEOUT_USEC=300000000")
    journal = open_key_journal(settings.state_directory / JOURNAL_NAME)
    connection = ldapi(settings)
    people = people_of(settings, connection)
    api = site_api(settings, stop)
    keys = SiteApiKeys(api)
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
        journal=journal,
        cache_seconds=settings.cache_seconds,
        now=utc_now,
        monotonic=time.monotonic,
    )
    agent = Agent(
        connection=connection,
        people=people,
        journal=journal,
        poll=PollChanges(keys, journal, limits.page_changes),
        apply=ApplyChanges(people, journal, telling, limits.batch_targets, settings.observe, checkpoint),
        report=ReportResults(keys, journal, encode_results, uuid.uuid4, limits.batch_results, checkpoint),
        telling=telling,
        stop=stop,
        uids=settings.uids,
        acceptance=RequestFile(settings.state_directory / ACCEPT_NAME),
        limits=limits,
        now=utc_now,
        monotonic=time.monotonic,
        draw=draw,
    )
    try:
        agent.run()
    finally:
        api.close()
        journal.close()


def ldapi(settings: AgentSettings) -> LdapiConnection:
    return LdapiConnection(
        socket_path=settings.ldapi_socket, identity=settings.ldap_identity, limits=DirectoryLimits()
    )


def people_of(settings: AgentSettings, connection: LdapiConnection) -> LdapPeople:
    return LdapPeople(connection, base=settings.people_base, probe_entry=settings.probe_entry)


def site_api(settings: AgentSettings, stop: Stop) -> SiteApi:
    return SiteApi(
        origin=settings.site_api_url,
        credential=settings.credential,
        ca_file=settings.ca_file,
        limits=SiteApiLimits(),
        waiting=stop.interruptible,
    )
