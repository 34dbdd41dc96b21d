"""The composition root of the commands that act beside the running agent: `doctor` and `accept-feed`."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from site_bundle.directory.ldap3_parts import load_ldap3
from site_bundle.kernel.credential import Credential, first_there
from site_bundle.kernel.errors import SettingsError, SiteError, UnavailableError
from site_bundle.kernel.health import Check, Status
from site_bundle.kernel.identity import become_component
from site_bundle.kernel.journal import JournalRefusedError
from site_bundle.kernel.requests import RequestFile, put_feed
from site_bundle.kernel.runtime import utc_now
from site_bundle.kernel.status_files import process_seen
from site_bundle.kernel.stop import Stop
from site_bundle.ssh_access.adapters.site_api_keys import SiteApiKeys
from site_bundle.ssh_access.adapters.sqlite_journal import open_key_journal, statements
from site_bundle.ssh_access.application.accept_feed import AcceptFeed
from site_bundle.ssh_access.application.check_self import CheckSelf
from site_bundle.ssh_access.compose import ACCEPT_NAME, JOURNAL_NAME, ldapi, people_of, site_api
from site_bundle.ssh_access.settings import TOKEN, AgentSettings, agent_settings


def run_doctor(
    environment: Mapping[str, str], *, user: str, token_files: Sequence[Path]
) -> tuple[Check, ...]:
    """All checks, made as the component's user: as root slapd would see another identity."""
    if not environment.get(TOKEN) and not environment.get(TOKEN + "_FILE"):
        environment = {**environment, TOKEN + "_FILE": str(first_there(token_files))}
    try:
        settings = agent_settings(environment)
    except SettingsError as error:
        return (Check.of_error("settings", error),)
    token = _token(settings)
    if isinstance(token, Check):
        return (token,)
    settings = replace(settings, credential=token)
    # Once root is given up, the interpreter's own files need not be readable.
    load_ldap3()
    codecs.lookup("idna")
    become_component(user, settings.state_directory)
    connection = ldapi(settings)
    api = site_api(settings, Stop())
    checks = CheckSelf(
        grant_api=SiteApiKeys(api),
        directory=connection,
        people=people_of(settings, connection),
        probe_rights=settings.probe_entry is not None and not settings.observe,
        cache_seconds=settings.cache_seconds,
        process=lambda: process_seen(settings.runtime_directory, unit=user, now=utc_now()),
    )
    try:
        return (Check("settings", Status.PASS, "complete and valid"), *checks.run(now=utc_now()))
    finally:
        connection.close()
        api.close()


def _token(settings: AgentSettings) -> Credential | Check:
    """The token as whoever started the command may read it, before root is given up."""
    try:
        return Credential(value=settings.credential.read())
    except SiteError as error:
        return Check.of_error("credential", error)


def accept_feed(environment: Mapping[str, str], *, user: str, text: str) -> str:
    """Accepts the history `text`: at once when no agent runs, else by asking the running one. Says what
    follows.
    """
    try:
        feed = UUID(text)
    except ValueError as error:
        raise SettingsError(
            "feed_malformed",
            found="the argument is no feed id",
            wanted="a UUID",
            remedy="copy it from status",
        ) from error
    settings = agent_settings(
        {TOKEN: "unused", **environment} if not environment.get(TOKEN + "_FILE") else environment
    )
    statements()
    become_component(user, settings.state_directory)
    try:
        journal = open_key_journal(settings.state_directory / JOURNAL_NAME)
    except JournalRefusedError as error:
        if error.code != "journal_locked":
            raise
        return _ask_running(settings, feed)
    try:
        accepted = AcceptFeed(journal).run(feed)
    finally:
        journal.close()
    return f"accepted {feed}; {accepted.unlisted} key(s) it does not list are removed when the agent runs"


def _ask_running(settings: AgentSettings, feed: UUID) -> str:
    try:
        put_feed(RequestFile(settings.state_directory / ACCEPT_NAME), feed)
    except OSError as error:
        raise UnavailableError(
            "request_unwritten",
            found=f"{settings.state_directory}: {error.strerror}",
            wanted="write access as root or as the component's user",
            remedy="run it with sudo",
        ) from error
    return f"asked the running agent to accept {feed}; it answers in its log and status within a minute"
