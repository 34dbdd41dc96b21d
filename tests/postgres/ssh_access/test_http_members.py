"""Members against the running API: their own keys, their own receipts, evidence that fails (E6, X1, X7)."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.postgres.ssh_access.conftest import MEMBERS, Running, add_body, write_accounts


@pytest.fixture(scope="module")
def token(running: Running) -> str:
    return running.token()


def test_an_unreadable_accounts_file_is_503_and_never_absence(running: Running, token: str) -> None:
    """X1: broken, then missing, then mended; the same command succeeds in the end."""
    headers = {"Idempotency-Key": str(uuid4())}
    try:
        running.accounts.write_text("{")
        broken = running.member(token, "POST", body=add_body(3005), **headers)
        running.accounts.unlink()
        missing = running.member(token, "POST", body=add_body(3005), **headers)
    finally:
        write_accounts(running.accounts)
    assert [(a.status, a.body["code"]) for a in (broken, missing)] == [(503, "unavailable")] * 2
    assert broken.headers["Retry-After"]
    assert running.member(token, "POST", body=add_body(3005), **headers).status == 201


def test_a_leaver_can_still_remove_a_key(running: Running) -> None:
    """E6: the account is gone from the evidence; the saved target still names it in the feed."""
    token = running.token("member7")
    key = running.member(token, "POST", body=add_body(3006)).body
    try:
        write_accounts(running.accounts, [name for name in MEMBERS if name != "member7"])
        refused = running.member(token, "POST", body=add_body(3007))
        removed = running.member(token, "DELETE", f"/{key['keyId']}")
    finally:
        write_accounts(running.accounts)
    assert (refused.status, refused.body["code"]) == (409, "account_absent")
    assert (removed.status, removed.body["state"]) == (202, "removing")
    changes = running.site(running.grant(), "GET", "/changes?after=0").body["changes"]
    change = next(change for change in changes if change["keyId"] == key["keyId"])
    assert (change["act"], change["target"]["username"]) == ("absent", "member7")


def test_members_see_and_remove_their_own_keys_only(running: Running) -> None:
    mine, other = running.token("member1"), running.token("member2")
    key = running.member(mine, "POST", body=add_body(3008)).body
    assert running.member(other, "GET").body["keys"] == []
    answer = running.member(other, "DELETE", f"/{key['keyId']}")
    assert (answer.status, answer.body["code"]) == (404, "key_unknown")
    assert running.member(mine, "GET").body["keys"][0]["state"] == "pending"


def test_an_idempotency_key_belongs_to_its_member(running: Running) -> None:
    shared = {"Idempotency-Key": str(uuid4())}
    first = running.member(running.token("member3"), "POST", body=add_body(3009), **shared)
    second = running.member(running.token("member4"), "POST", body=add_body(3009), **shared)
    assert (first.status, second.status) == (201, 201)
    assert first.body["keyId"] != second.body["keyId"]


def test_two_adds_at_once_over_http_are_one_key(running: Running) -> None:
    token = running.token("member5")
    with ThreadPoolExecutor(8) as workers:
        answers = list(workers.map(lambda _: running.member(token, "POST", body=add_body(3010)), range(8)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 7
    assert {answer.body["code"] for answer in answers if answer.status == 409} == {"key_exists"}


def test_a_post_repeated_at_once_over_http_is_one_receipt(running: Running) -> None:
    token, same = running.token("member6"), {"Idempotency-Key": str(uuid4())}
    with ThreadPoolExecutor(8) as workers:
        answers = list(
            workers.map(lambda _: running.member(token, "POST", body=add_body(3011), **same), range(8))
        )
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert len({answer.body["keyId"] for answer in answers}) == 1
