"""What every command shares: its settings, how it tells a refusal, its exit codes."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from central.settings import Process, Settings

USAGE, REFUSED, UNAVAILABLE = 2, 3, 4


def settings_of(process: Process) -> Settings:
    from central.settings import load_settings

    return load_settings(os.environ, process)


def operator_settings(site: str | None = None) -> Settings:
    """The operator's settings. Raises `SiteUnknown` for a Site they do not name."""
    from central.processes.operator import known_site

    settings = settings_of("operator")
    if site is not None:
        known_site(settings, site)
    return settings


@contextmanager
def told() -> Iterator[None]:
    """Turns what a command refuses into its line on stderr and its exit code.

    The pool's log of each failed try does not come before that line; a service's own log still has it.
    """
    from central.kernel.errors import Unavailable
    from central.kernel.migrations import MigrationRefused
    from central.processes.refusals import OperatorRefused, refusal_of
    from central.settings import SettingsRefused

    logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
    try:
        yield
    except SettingsRefused as error:
        for fault in error.faults:
            click.echo(f"settings: {fault}", err=True)
        sys.exit(USAGE)
    except Unavailable as error:
        click.echo(f"unavailable ({error.code}): {error.detail}", err=True)
        sys.exit(UNAVAILABLE)
    except (MigrationRefused, *OperatorRefused) as error:
        code, text = refusal_of(error)
        click.echo(f"refused ({code}): {text}", err=True)
        sys.exit(REFUSED)


def print_list(
    what: str,
    rows: Sequence[Mapping[str, Any]],
    line: Callable[[Mapping[str, Any]], str],
    header: str,
    *,
    as_json: bool,
) -> None:
    """A list: one JSON document, or a heading and a line a row; "none" on stderr where there is none."""
    if as_json:
        click.echo(json.dumps({"schema": 1, what: rows}))
        return
    if not rows:
        click.echo("none", err=True)
        return
    click.echo(header)
    for row in rows:
        click.echo(line(row))
