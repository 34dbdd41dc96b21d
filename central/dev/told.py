"""How a command of `pharos-central dev` tells a refusal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def told() -> Iterator[None]:
    """Turns what a command refuses into its line on stderr and its exit code."""
    from central.dev.plan import DevRefused
    from central.kernel.embedded_postgres import EmbeddedPostgresFailed
    from central.kernel.errors import Unavailable
    from central.kernel.migrations import MigrationRefused
    from central.processes.refusals import OperatorRefused, refusal_of

    try:
        yield
    except DevRefused as error:
        click.echo(f"refused (dev): {error}", err=True)
        sys.exit(3)
    except Unavailable as error:
        click.echo(f"unavailable ({error.code}): {error.detail}", err=True)
        sys.exit(4)
    except (MigrationRefused, EmbeddedPostgresFailed, *OperatorRefused) as error:
        code, text = refusal_of(error)
        click.echo(f"refused ({code}): {text}", err=True)
        sys.exit(3)
