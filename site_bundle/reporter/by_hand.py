"""The composition root of the commands that act beside the service: `once`, `doctor`, `accept-absence`."""

from __future__ import annotations

import codecs
import importlib
import os
import pwd
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from site_bundle.directory.ldap3_parts import load_ldap3
from site_bundle.kernel.command_line import HEALTHY, UNHEALTHY
from site_bundle.kernel.credential import Credential, first_there
from site_bundle.kernel.errors import SettingsError, SiteError
from site_bundle.kernel.health import Check, Status
from site_bundle.kernel.identity import become_component
from site_bundle.kernel.runtime import utc_now
from site_bundle.kernel.status_files import process_seen
from site_bundle.kernel.stop import Stop
from site_bundle.reporter.adapters.sqlite_journal import JOURNAL_NAME, open_report_journal, statements
from site_bundle.reporter.application.check_self import CheckSelf
from site_bundle.reporter.compose import Sources, run_once, sources_of
from site_bundle.reporter.domain.policy import POSIX_NAME
from site_bundle.reporter.entrypoints.once_document import once_document
from site_bundle.reporter.settings import (
    FOLDERS,
    KEY,
    PASSWORD,
    TOKEN,
    ReporterSettings,
    reporter_settings,
)
from site_bundle.slurm.clusters import ShowRights

UNIT = "pharos-reporter"
_REASON = 200  # characters
CREDENTIALS = {KEY: "intake-key", TOKEN: "waldur-token", PASSWORD: "ldap-password"}
# What the running unit has, then what it would be given.
_FOLDERS = (
    Path("/run/credentials/pharos-reporter.service"),
    Path("/etc/pharos-hpc/credentials/reporter"),
)


def once(environment: Mapping[str, str], *, user: str) -> tuple[dict[str, Any], int]:
    """One pass and one delivery by hand, as a document and the exit code."""
    settings = _prepared(environment, user)
    observed, sent, commands = run_once(settings, environment, Stop())
    mode = "observe" if settings.observe else "apply"
    document = once_document(observed, sent, mode=mode, commands=commands)
    whole = not (observed.failed or observed.decision.faults or sent.error or sent.faults)
    return document, HEALTHY if whole else UNHEALTHY


def doctor(environment: Mapping[str, str], *, user: str) -> tuple[Check, ...]:
    """All checks, made as the component's user."""
    try:
        settings = _prepared(environment, user)
    except SettingsError as error:
        return (Check.of_error("settings", error),)
    except SiteError as error:
        return (Check.of_error("credential", error),)
    sources = sources_of(settings, environment, Stop(), helped=False)
    checks = CheckSelf(
        offering=sources.waldur.ask,
        cluster=sources.cluster,
        people=sources.directory,
        platform=sources.intake,
        rights=lambda: _coordinates(sources, settings),
        process=lambda: process_seen(settings.runtime_directory, unit=UNIT, now=utc_now()),
        policy=settings.policy,
        observe=settings.observe,
    )
    try:
        return (Check("settings", Status.PASS, "complete and valid"), *checks.run())
    finally:
        sources.close()


def accept_absence(environment: Mapping[str, str], *, user: str, name: str, reason: str) -> str:
    """Journals an administrator's word that what the directory does not show of `name` is absent (X1). Says
    what follows.
    """
    if not POSIX_NAME.fullmatch(name):
        raise SettingsError(
            "username_malformed",
            found="the argument is no login name",
            wanted="a member's username",
            remedy="copy it from pharos-reporter once, which names each in doubt",
        )
    if not (reason.isprintable() and 0 < len(reason.strip()) <= _REASON):
        raise SettingsError(
            "acceptance_unexplained",
            found="no reason, or none that fits a line",
            wanted=f"1 to {_REASON} printable characters",
            remedy="say how you know that the account is gone, as in --reason 'ticket 4711'",
        )
    by = _administrator(environment)
    statements()
    state = FOLDERS.state(environment)
    become_component(user, state)
    journal = open_report_journal(state / JOURNAL_NAME)
    try:
        journal.accept_absence(name, by=by, reason=reason.strip(), now=utc_now())
    finally:
        journal.close()
    return f"accepted by {by}: what is not shown of {name} is absent, until the directory shows it again"


def _administrator(environment: Mapping[str, str]) -> str:
    """Who is at the keyboard, as sudo(8) tells it to root alone; else this process's user."""
    told = environment.get("SUDO_USER", "") if os.getuid() == 0 else ""
    try:
        return told if POSIX_NAME.fullmatch(told) else pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _prepared(environment: Mapping[str, str], user: str) -> ReporterSettings:
    """The settings with the credentials as whoever started the command may read them; then that user no more.

    Once root is given up, the interpreter's own files need not be readable.
    """
    settings = reporter_settings(_with_credentials(environment))
    settings = replace(
        settings,
        intake_key=Credential(value=settings.intake_key.read()),
        waldur_token=Credential(value=settings.waldur_token.read()),
        password=Credential(value=settings.password.read()),
    )
    load_ldap3()
    importlib.import_module("http.client")
    codecs.lookup("idna")
    statements()
    become_component(user, settings.state_directory)
    return settings


def _with_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    found = dict(environment)
    for name, file in CREDENTIALS.items():
        if not environment.get(name) and not environment.get(f"{name}_FILE"):
            found[f"{name}_FILE"] = str(first_there([folder / file for folder in _FOLDERS]))
    return found


def _coordinates(sources: Sources, settings: ReporterSettings) -> bool:
    """Whether this process's user coordinates the parent account, or administers accounting."""
    rights = sources.slurm.read(ShowRights(pwd.getpwuid(os.geteuid()).pw_name))
    if rights is None:
        return False
    return settings.policy.parent_account in rights.coordinates or rights.admin_level == "Administrator"
