"""A central that names whom it must not: the host refuses by its own rules (S2, I7, X11; A41)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import replace
from typing import Any

import pytest

from site_bundle.kernel.errors import SettingsError, UnavailableError
from site_bundle.runtime.adapters.slurm_jobs import SlurmJobs
from site_bundle.runtime.adapters.token_user import TokenUsers
from site_bundle.runtime.domain.stage import Account
from site_bundle.runtime.settings import runtime_settings
from site_bundle.slurm.account_parents import ShowAccountParent
from site_bundle.slurm.errors import UnreadableOutputError
from tests.unit.site_bundle.runtime.scenes import ALICE, COMMAND
from tests.unit.site_bundle.runtime.world import TOKEN, World, token_of

CONFIGURED = {
    "AuthAltParameters": "jwt_key=/k, jwks=/etc/slurm/jwks.json,UserClaimField=preferred_username,disable_x"
}


def raw_token(claims: bytes) -> str:
    return f"h.{urlsafe_b64encode(claims).decode()}.s"


@pytest.mark.parametrize(
    "changes",
    [
        {"username": "pharos-agent", "uid_number": 999},
        {"username": "slurm", "uid_number": 64030},
        {"uid_number": 4999999},
        {"uid_number": 5500000},
        {"account": "other"},
        {"account": "root"},
    ],
)
def test_i7_identity_that_is_no_members_is_refused_though_the_host_has_it(
    world: World, changes: dict[str, Any]
) -> None:
    """A coordinator has an association of its own, as every service that runs jobs: the saved identity stands
    and is refused all the same. No token is asked for.
    """
    identity = replace(ALICE, **changes)
    world.who = Account(identity.uid_number, "/home/x")
    world.token = UnavailableError("asked", found="a token was asked for")
    world.receive(replace(COMMAND, identity=identity))
    world.turn()
    assert world.jobs == []
    assert [json.loads(word.body)["code"] for word in world.sent] == ["identity_outside_site"]


@pytest.mark.parametrize(
    "token",
    [
        token_of(sun="root"),
        token_of(sun="bob"),
        token_of(sun="alice", username="root"),
        token_of(sun=["alice"]),
        token_of(sun=None),
        token_of(),
        "alice",
        "a.b.c",
        token_of(sun="alice") + ".more",
        raw_token(b'{"sun":"root","sun":"alice"}'),
        raw_token(b'["alice"]'),
    ],
)
def test_s2_token_of_another_user_submits_nothing(world: World, token: str) -> None:
    """Slurm would obey it, whoever it names; the job would not even be found again by the command's user."""
    world.token = replace(TOKEN, token=token)
    world.receive(COMMAND)
    with pytest.raises(UnavailableError) as waits:
        world.turn()
    assert waits.value.code == "member_token_of_another" and world.jobs == []
    assert token not in str(waits.value)
    world.token = TOKEN
    world.turn(20)
    assert len(world.jobs) == 1, "with the member's own it is begun"


def test_s2_the_claim_is_the_one_this_slurm_reads() -> None:
    configured = TokenUsers.of_settings(CONFIGURED)
    own = TokenUsers.of_settings({"AuthAltParameters": "jwt_key=/k"})
    assert configured == TokenUsers("preferred_username") and own == TokenUsers(None)
    assert configured.user(token_of(preferred_username="alice", username="Alice A.")) == "alice"
    assert configured.user(token_of(sun="alice")) is None, "it is not what this Slurm reads"
    assert configured.user(token_of(preferred_username="alice", sun="root")) is None
    assert own.user(token_of(username="alice")) == "alice"


class Tree:
    """Answers for the account's own row; counts how often it was asked."""

    def __init__(self, **above: str) -> None:
        self.above, self.asked = above, 0

    def read(self, command: ShowAccountParent) -> str | None:
        self.asked += 1
        return self.above.get(command.account)


def test_w28_i7_account_is_the_platforms_by_the_tree_not_by_its_name() -> None:
    tree: Any = Tree(proj_a="pharos", deep="proj_a", other="root", pharos="root", root="", ring="ring")
    jobs = SlurmJobs(tree, cluster="icarus", fence="@abcdefghijklmnop@")
    found = {
        name: jobs.stands_below(name, "Pharos") for name in ("pharos", "proj_a", "deep", "other", "none")
    }
    assert found == {"pharos": True, "proj_a": True, "deep": True, "other": False, "none": False}
    before = tree.asked
    assert jobs.stands_below("ring", "pharos") is False and tree.asked - before < 20


def test_w29_a07_parent_is_read_from_the_accounts_own_row() -> None:
    asked = ShowAccountParent("icarus", "proj_a")
    assert asked.argv()[-2:] == ["user=", "format=Account,User,ParentName"]
    assert asked.parse("proj_a||pharos\n") == "pharos"
    assert asked.parse("root||\n".replace("root", "proj_a")) == ""
    assert asked.parse("") is None
    for other in (
        "proj_b||pharos\n",
        "proj_a|alice|\n",
        "proj_a||phar+\n",
        "proj_a||a\nproj_a||b\n",
        "proj_a|\n",
    ):
        with pytest.raises(UnreadableOutputError):
            asked.parse(other)


def test_x6_range_is_a_range() -> None:
    settings = {
        "PHAROS_SITE_API_URL": "https://api.example.org", "PHAROS_SITE_API_TOKEN": "phs1_x",
        "PHAROS_RUNTIME_CLUSTER": "c", "PHAROS_RUNTIME_PARENT_ACCOUNT": "p",
        "PHAROS_RUNTIME_STAGING_PARTITION": "s", "PHAROS_RUNTIME_COMPUTE_PARTITION": "c",
        "PHAROS_RUNTIME_UID_MIN": "5000000", "PHAROS_RUNTIME_UID_MAX": "5499999",
    }  # fmt: skip
    uids = runtime_settings(settings).uids
    assert 5000000 in uids and 5499999 in uids and 0 not in uids and 5500000 not in uids
    for changes in ({"PHAROS_RUNTIME_UID_MAX": "4999999"}, {"PHAROS_RUNTIME_UID_MIN": "0"}):
        with pytest.raises(SettingsError):
            runtime_settings(settings | changes)
