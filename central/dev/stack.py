"""Starts the development stack, keeps it together, and stops everything it started.

PostgreSQL → schema and roles → OIDC issuer → Site API → member API → `dev.json`. A process that ends on its
own ends the stack, loudly.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

import click

import central
from central.dev.certificates import ensure_authority, issue_leaf
from central.dev.children import Child, ChildFailed, Children
from central.dev.database import prepare_database
from central.dev.plan import AUDIENCE, DevPlan, DevRefused
from central.dev.probe import answers
from central.dev.state import (
    choose_ports,
    ensure_accounts,
    make_folders,
    only_one,
    write_dev_json,
)
from central.kernel.embedded_postgres import EmbeddedPostgres
from central.kernel.times import utc_now

_READY_SECONDS: Final = 30.0
_ROOT: Final = Path(central.__file__).resolve().parent.parent
"""The checkout this code runs from."""

_WARNING: Final = """\
******************************************************************************
* DEVELOPMENT: members' accounts come from a file and anybody on this        *
* machine can mint a member's token. Nothing here may face a real network.   *
******************************************************************************"""


class _Stopped(BaseException):
    """SIGTERM or SIGINT came."""


@dataclass(frozen=True, slots=True)
class _Running:
    """What `dev.json` tells."""

    site_url: str
    site_listen: str
    member_url: str
    issuer: str
    ca_file: Path | None
    children: Children
    postgres_pid: int | None


def run(plan: DevPlan) -> int:
    """Runs until stopped; 0 when told to stop, 1 when a part of it ended on its own. Raises `DevRefused`."""
    click.echo(_WARNING, err=True)
    try:
        with _stoppable(), ExitStack() as held:
            make_folders(plan)
            held.enter_context(only_one(plan))
            plan.dev_json.unlink(missing_ok=True)
            running = _start(plan, held)
            write_dev_json(plan, _document(plan, running))
            held.callback(plan.dev_json.unlink, missing_ok=True)
            _tell(plan, running)
            return _watch(running.children)
    except _Stopped:
        click.echo("stopped", err=True)
        return 0
    except ChildFailed as error:
        click.echo(f"dev: {error}", err=True)
        return 1


def _start(plan: DevPlan, held: ExitStack) -> _Running:
    ensure_accounts(plan)
    ports = choose_ports(plan)
    postgres = EmbeddedPostgres(plan.state / "postgres")
    urls = held.enter_context(postgres)
    prepare_database(plan, urls)
    children = Children(plan.logs)
    held.callback(children.stop)
    issuer = f"http://127.0.0.1:{ports['oidc']}"
    _start_issuer(plan, children, issuer, ports["oidc"])
    common = _environment(plan)
    site_url, ca_file = _start_site_api(plan, children, common, ports["site_api"])
    member_url = _start_member_api(plan, children, common, ports["member_api"], issuer)
    listen = f"{plan.site_host}:{ports['site_api']}"
    return _Running(site_url, listen, member_url, issuer, ca_file, children, postgres.pid)


def _start_issuer(plan: DevPlan, children: Children, issuer: str, port: int) -> None:
    if not (_ROOT / "tests" / "simulators" / "oidc" / "__main__.py").is_file():
        raise DevRefused(
            "the development issuer is not here: `dev` needs a source checkout, not an installed wheel"
        )
    arguments = [
        "-P", "-m", "tests.simulators.oidc", "--listen", f"127.0.0.1:{port}", "--audience", AUDIENCE,
        "--keys", str(plan.secrets / "oidc-keys.json"), "--parent", str(os.getpid()),
    ]  # fmt: skip
    child = children.start("oidc-issuer", arguments, _inherited())
    ready = f"{issuer}/.well-known/openid-configuration"
    children.wait_until(child, lambda: answers(ready), _READY_SECONDS)


def _start_site_api(
    plan: DevPlan, children: Children, common: dict[str, str], port: int
) -> tuple[str, Path | None]:
    environment = {
        **common,
        "PHAROS_DATABASE_URL_FILE": str(plan.url_file("site_api")),
        "PHAROS_SITE_API_LISTEN": f"{plan.site_host}:{port}",
        "PHAROS_SITE_API_POLLERS": str(plan.pollers),
    }
    url, ca_file = f"http://{plan.site_host}:{port}", None
    if plan.tls_name is not None:
        now = utc_now()
        ca_file = ensure_authority(plan.tls, now)
        certificate, key = issue_leaf(plan.tls, plan.tls_name, plan.site_host, now)
        environment |= {"PHAROS_TLS_CERTIFICATE": str(certificate), "PHAROS_TLS_KEY_FILE": str(key)}
        url = f"https://{plan.tls_name}:{port}"
    child = _serve(children, "site-api", environment)
    reach = "127.0.0.1" if plan.site_host in ("0.0.0.0", "[::]") else plan.site_host  # noqa: S104 - compared
    scheme = "https" if ca_file else "http"
    ready = f"{scheme}://{reach}:{port}/readyz"
    children.wait_until(child, lambda: answers(ready, ca_file, plan.tls_name), _READY_SECONDS)
    return url, ca_file


def _start_member_api(
    plan: DevPlan, children: Children, common: dict[str, str], port: int, issuer: str
) -> str:
    environment = {
        **common,
        "PHAROS_DATABASE_URL_FILE": str(plan.url_file("member_api")),
        "PHAROS_MEMBER_API_LISTEN": f"127.0.0.1:{port}",
        "PHAROS_OIDC_ISSUER": issuer,
        "PHAROS_OIDC_AUDIENCE": AUDIENCE,
        "PHAROS_DEVELOPMENT_ACCOUNTS": str(plan.accounts),
    }
    child = _serve(children, "member-api", environment)
    url = f"http://127.0.0.1:{port}"
    children.wait_until(child, lambda: answers(f"{url}/readyz"), _READY_SECONDS)
    return url


def _serve(children: Children, process: str, environment: dict[str, str]) -> Child:
    return children.start(process, ["-P", "-m", "central.cli", "serve", process], environment)


def _environment(plan: DevPlan) -> dict[str, str]:
    return {
        **_inherited(),
        "PHAROS_ENVIRONMENT": "development",
        "PHAROS_SITES": ",".join(plan.sites),
    }


def _inherited() -> dict[str, str]:
    """Our own environment without the product's settings: the stack's come from the plan alone."""
    ours = ("PHAROS_", "RESOURCE_PROVISIONING_", "JOURNAL_STREAM", "NOTIFY_SOCKET")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    search = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(search)}


def _watch(children: Children) -> int:
    while True:
        ended = children.ended()
        if ended is not None:
            click.echo(f"dev: {ended.name} ended with {ended.process.returncode}: {ended.tail()}", err=True)
            return 1
        time.sleep(0.5)


def _document(plan: DevPlan, running: _Running) -> dict[str, object]:
    children = {child.name: child.process.pid for child in running.children.running}
    return {
        "schema": 1,
        "developmentStandIn": True,
        "state": str(plan.state),
        "sites": list(plan.sites),
        "siteApi": {
            "url": running.site_url,
            "listen": running.site_listen,
            "caFile": str(running.ca_file) if running.ca_file else None,
        },
        "memberApi": {"url": running.member_url},
        "oidc": {"issuer": running.issuer, "audience": AUDIENCE},
        "accounts": str(plan.accounts),
        "logs": str(plan.logs),
        "operatorDatabaseUrlFile": str(plan.url_file("operator")),
        "pids": {"dev": os.getpid(), "postgres": running.postgres_pid, **children},
    }


def _tell(plan: DevPlan, running: _Running) -> None:
    lines = [
        f"Site API    {running.site_url}",
        f"member API  {running.member_url}",
        f"OIDC issuer {running.issuer} (audience {AUDIENCE})",
        f"accounts    {plan.accounts} (edit it: it says whose account a key goes to)",
    ]
    if running.ca_file is not None:
        lines.append(f"CA          {running.ca_file}")
    lines += [
        f"dev.json    {plan.dev_json}",
        f"a token:    pharos-central dev token --state {plan.state} --member alice",
        f"a grant:    pharos-central dev grant --state {plan.state} --output FILE",
    ]
    click.echo("\n".join(lines))


@contextmanager
def _stoppable() -> Iterator[None]:
    """The first signal leaves through the finally clauses, which no second one interrupts."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        raise _Stopped

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
