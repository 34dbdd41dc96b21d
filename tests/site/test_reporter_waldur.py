"""The reader of the offering's resources beside the Waldur simulator: every row of its table of faults (X1,
P34, S8; E25, A13's kin).
"""

from __future__ import annotations

from uuid import UUID

import pytest

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.https import HttpsLimits, HttpsOrigin, PeerRefusedError, PeerUnavailableError
from site_bundle.reporter.adapters.waldur_resources import WALDUR, WaldurLimits, WaldurResources
from site_bundle.reporter.domain.sources import RowState
from site_bundle.reporter.settings import api_url
from tests.simulators.waldur.reading import CASES, ROWS, Case, Conclusion, Read, Readable

LIMITS = HttpsLimits(read_seconds=2.0, whole_seconds=3.0, answer_bytes=4 << 20)
# What names the credential or its roles as the cause.
OF_THE_TOKEN = {"waldur_unauthorized", "waldur_forbidden", "waldur_offering_hidden"}


def reader(world: Readable) -> tuple[WaldurResources, HttpsOrigin]:
    host, prefix = api_url(world.waldur.api)
    origin = HttpsOrigin(peer=WALDUR, origin=host, ca_file=world.ca_file, limits=LIMITS)
    token = Credential(value=world.token)
    resources = WaldurResources(
        origin,
        prefix=prefix,
        token=token,
        offering_id=world.offering,
        http_limits=LIMITS,
        limits=WaldurLimits(),
    )
    return resources, origin


def read(world: Readable) -> Read:
    resources, origin = reader(world)
    try:
        found = resources.resources()
    except SiteError as error:
        of_token = isinstance(error, PeerRefusedError) and error.code in OF_THE_TOKEN
        return Read(Conclusion.REFUSED if of_token else Conclusion.UNAVAILABLE)
    finally:
        origin.close()
    conclusion = Conclusion.ROW if found.unreadable else Conclusion.WHOLE
    rows = frozenset(row.resource_id for row in found.rows)
    return Read(conclusion, rows, frozenset(map(UUID, found.unreadable)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_x1_s8_reader_concludes(case: Case, readable: Readable) -> None:
    case.arm(readable)
    case.judge(readable, read(readable))


def test_w02_p34_rows_as_they_are(readable: Readable) -> None:
    """Every state is read, the account in Slurm's lower case."""
    readable.waldur.back()
    first = next(iter(readable.resources()))
    change = {"backend_id": "Proj_A", "paused": True}
    readable.waldur.act("change", table="resources", uuid=first.hex, set=change)
    resources, origin = reader(readable)
    rows = {row.resource_id: row for row in resources.resources().rows}
    assert resources.ask() == ROWS
    origin.close()
    assert (rows[first].account, rows[first].paused) == ("proj_a", True)
    assert rows[first].state is RowState.TERMINATED
    assert len(rows) == ROWS


def test_s8_retry_after_is_told(readable: Readable) -> None:
    readable.waldur.back()
    readable.waldur.fault("throttle", call="", times=None, seconds=30)
    resources, origin = reader(readable)
    with pytest.raises(PeerUnavailableError) as caught:
        resources.resources()
    origin.close()
    assert caught.value.retry_after == 30
