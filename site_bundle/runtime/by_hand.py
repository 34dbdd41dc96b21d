"""The composition root of the commands that act beside the service: `doctor`, owners, `drain`,
`accept-feed`.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.credential import Credential, first_there
from site_bundle.kernel.errors import RefusedError, SettingsError, SiteError, UnavailableError
from site_bundle.kernel.health import Check, Status
from site_bundle.kernel.identity import become_component
from site_bundle.kernel.runtime import utc_now
from site_bundle.kernel.status_files import process_seen, wake_process
from site_bundle.kernel.stop import Stop
from site_bundle.kernel.times import parse_time
from site_bundle.runtime.adapters.request_files import RequestFiles
from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.adapters.scripts import load_templates, template
from site_bundle.runtime.application.ports import DrainRequest
from site_bundle.runtime.compose import group_ids, outside_of, owners_of, version_check
from site_bundle.runtime.settings import FOLDERS, TOKEN, RuntimeSettings, runtime_settings
from site_bundle.slurm.submission import ShowVersion

UNIT = "pharos-runtime"
_NO_OWNERS = frozenset({"process", "slurm_version"})
# What the running unit has, then what it would be given.
TOKEN_FILES = (
    Path("/run/credentials/pharos-runtime.service/site-api-token"),
    Path("/etc/pharos-hpc/credentials/runtime/site-api-token"),
)


def doctor(environment: Mapping[str, str], *, user: str) -> tuple[Check, ...]:
    """All checks, made as the component's user."""
    try:
        settings = _prepared(environment, user)
    except SettingsError as error:
        return (Check.of_error("settings", error),)
    except SiteError as error:
        return (Check.of_error("credential", error),)
    outside = outside_of(settings, environment, Stop())
    try:
        found = owners_of(settings, outside, _probing(settings)).run()
        try:
            version = version_check(outside.client.read(ShowVersion()))
        except SiteError as error:
            version = Check.of_error("slurm_version", error)
    finally:
        outside.close()
    valid = Check("settings", Status.PASS, "settings are complete and valid")
    process = process_seen(settings.runtime_directory, unit=UNIT, now=utc_now())
    return (valid, process, version, *found)


def owners(environment: Mapping[str, str], *, user: str) -> tuple[Check, ...]:
    """The owners alone (S6), or the one fault that keeps them from being asked."""
    found = [check for check in doctor(environment, user=user) if check.id not in _NO_OWNERS]
    return tuple(check for check in found if (check.id, check.status) != ("settings", Status.PASS))


def drain(environment: Mapping[str, str], *, user: str, request: DrainRequest) -> str:
    """Asks the service; for people, what was asked and where it shows."""
    requests = RequestFiles(FOLDERS.state(environment))
    when = _ask(environment, user, lambda: requests.put_drain(request))
    wish, state = ("no new work", "draining") if request.draining else ("work again", "taking work")
    return f"asked the service to take {wish}{when}; its status will say: {state}"


def accept_feed(environment: Mapping[str, str], *, user: str, text: str) -> str:
    """Asks the service to begin commands of exactly this history."""
    try:
        feed = UUID(text)
    except ValueError as error:
        raise SettingsError(
            "feed_malformed",
            found="the argument is no feed id",
            wanted="a UUID",
            remedy="copy it from status",
        ) from error
    requests = RequestFiles(FOLDERS.state(environment))
    when = _ask(environment, user, lambda: requests.put_acceptance(feed))
    return (
        f"the service begins commands of history {feed} as soon as it is the one central answers with{when}"
    )


def parse_until(text: str | None, now: datetime) -> datetime | None:
    """A time of the wire's form that is to come. RefusedError."""
    if text is None:
        return None
    try:
        until = parse_time(text)
    except ValueError as error:
        raise RefusedError(
            "until_malformed", found=text[:40], wanted="a time with a zone, such as 2026-12-01T18:00:00Z"
        ) from error
    if until <= now:
        raise RefusedError("until_passed", found=text[:40], wanted="a time to come")
    return until


def _ask(environment: Mapping[str, str], user: str, put: Callable[[], None]) -> str:
    """Leaves the request, then ends the service's wait: it is taken at once, or when the service next starts,
    and then what is returned says so.
    """
    folder = FOLDERS.state(environment)
    become_component(user, folder)
    try:
        put()
    except OSError as error:
        raise UnavailableError(
            "state_unwritable",
            found=f"{folder}: {error.strerror}",
            wanted="the service's state folder",
            remedy="run it as root (sudo)",
        ) from error
    woken = wake_process(FOLDERS.runtime(environment))
    return "" if woken else f" (it is not running now: {UNIT} takes this when it starts)"


def _probing(settings: RuntimeSettings) -> ScratchGrants:
    """Only its probe is used: no journal is opened beside the service."""
    return ScratchGrants(settings.grants_root, template("askpass"), settings.repository_ca, lambda: "")


def _prepared(environment: Mapping[str, str], user: str) -> RuntimeSettings:
    """The settings with the token as whoever started the command may read it; then that user no more.

    Once root is given up, the interpreter's own files need not be readable.
    """
    found = dict(environment)
    if not found.get(TOKEN) and not found.get(f"{TOKEN}_FILE"):
        found[f"{TOKEN}_FILE"] = str(first_there(TOKEN_FILES))
    settings = runtime_settings(found)
    settings = replace(settings, credential=Credential(value=settings.credential.read()))
    codecs.lookup("idna")
    load_templates()
    become_component(user, settings.state_directory, group_ids(settings.members_group))
    return settings
