"""Starts the development stack, keeps it together, and stops everything it started.

PostgreSQL → schema, roles, queues → the processes → `dev.json`. A process that ends on its
own ends the stack, loudly; with `--supervise` central's own are started again instead.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Final

import click

from central.dev.children import ChildFailed, Children
from central.dev.database import prepare_database
from central.dev.facts import document, summary
from central.dev.plan import DevPlan
from central.dev.processes import PORT_OF, Running, start_processes
from central.dev.state import (
    choose_ports,
    ensure_accounts,
    ensure_intake_keys,
    ensure_run_secrets,
    make_folders,
    only_one,
    write_dev_json,
)
from central.kernel.embedded_postgres import EmbeddedPostgres

_WARNING: Final = """\
******************************************************************************
* DEVELOPMENT: Beto is a stand-in, members' accounts may come from a file    *
* and anybody on this machine can mint a token. Keep it off real networks.   *
******************************************************************************"""


class _Stopped(BaseException):
    """SIGTERM or SIGINT came."""


def run(plan: DevPlan) -> int:
    """Runs until stopped; 0 when told to stop, 1 when a part of it ended on its own. Raises `DevRefused`."""
    click.echo(_WARNING, err=True)
    try:
        with _stoppable(), ExitStack() as held:
            make_folders(plan)
            held.enter_context(only_one(plan))
            plan.dev_json.unlink(missing_ok=True)
            running = _start(plan, held)
            write_dev_json(plan, document(plan, running))
            held.callback(plan.dev_json.unlink, missing_ok=True)
            click.echo("\n".join(summary(plan, running)))
            return _watch(plan, running.children)
    except _Stopped:
        click.echo("stopped", err=True)
        return 0
    except ChildFailed as error:
        click.echo(f"dev: {error}", err=True)
        return 1


def _start(plan: DevPlan, held: ExitStack) -> Running:
    ensure_accounts(plan)
    ensure_intake_keys(plan)
    ensure_run_secrets(plan)
    ports = choose_ports(plan)
    postgres = EmbeddedPostgres(plan.state / "postgres")
    urls = held.enter_context(postgres)
    prepare_database(plan, urls)
    children = Children(plan.logs)
    held.callback(children.stop)
    return start_processes(plan, children, ports, postgres.pid)


def _watch(plan: DevPlan, children: Children) -> int:
    while True:
        ended = children.ended()
        if ended is not None:
            click.echo(f"dev: {ended.name} ended with {ended.process.returncode}: {ended.tail()}", err=True)
            if not (plan.supervised and ended.name in PORT_OF):
                return 1
            children.start_again(ended)
            click.echo(f"dev: {ended.name} was started again", err=True)
        time.sleep(0.5)


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
