"""The stack with Beto's stand-in: Projects and members by command, reports, a key from both (P30, X8)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.postgres.dev.rig import ROOT, Dev, fresh, member
from tests.postgres.dev.site import Site, bound
from tests.postgres.kernel.waiting import until
from tests.postgres.provisioning.conftest import PROJECT_REF
from tests.postgres.ssh_access.conftest import add_body


@pytest.fixture
def dev() -> Iterator[Dev]:
    with fresh() as stack:
        yield stack


def test_p30_a_member_joins_gets_a_key_leaves_and_joins_again(dev: Dev) -> None:
    document = dev.start("--accounts", "reported")
    site = Site(document)
    until(lambda: site.members() == "project_unknown")
    project = dev.helper("project", "new", "--ref", PROJECT_REF)
    party = dev.helper("member", "add", "--username", "u1")
    until(lambda: site.ask(f"members?providerProjectRef={PROJECT_REF}")[0] == 404)
    until(lambda: bound(site, project))
    until(lambda: site.members() == {"u1": (1, "active")})
    site.accounts(site.allocation())
    token = dev.helper("token", "--member", "u1")
    assert member(document, token, "POST", add_body(1))[0] == 201
    dev.helper("member", "remove", "--username", "u1")
    until(lambda: site.members() == {"u1": (1, "retired")})
    status, refused = member(document, token, "POST", add_body(2))
    assert (status, refused["code"]) == (403, "not_eligible")
    assert dev.helper("member", "readd", "--username", "u1", "--project", PROJECT_REF) == party
    until(lambda: site.members() == {"u1": (2, "active")})
    until(lambda: site.ask("retained-accounts")[0] == 200)
    assert dev.end(signal.SIGTERM) == 0
    assert dev.left() == []

    again = Site(dev.start("--accounts", "reported"))
    until(lambda: again.members() == {"u1": (2, "active")})
    assert dev.helper("member", "add", "--username", "u2") != party
    until(lambda: again.members() == {"u1": (2, "active"), "u2": (1, "active")})
    dev.helper("project", "close", "--project", project)
    until(lambda: set(again.members().values()) == {(2, "retired"), (1, "retired")})


def test_x8_what_beto_cannot_do_is_said(dev: Dev) -> None:
    dev.start()
    for words, told in (
        (("member", "add", "--username", "u1"), "0 Projects fit"),
        (("project", "close", "--project", "nobody"), "0 Projects fit"),
        (("member", "add", "--username", "u1", "--site", "nope"), "'nope' is no Site of this platform"),
        (("member", "add", "--username", "Zoë x"), "wanted a POSIX login name"),
        (("member", "add", "--username", ""), "wanted a POSIX login name"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "central.cli", "dev", *words, "--state", str(dev.state)],
            cwd=ROOT, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, told in done.stderr) == (3, True), done.stderr
