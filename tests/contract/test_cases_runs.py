"""What central accepts from a member, a Site can read: else one member's Run would stand in everybody's way,
for a page with one command outside the grammar is refused whole (X10, E3, E4).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from central.execution.application.list_commands import Bounded
from central.execution.application.ports import Listed
from central.execution.domain.accept import accept
from central.execution.domain.command import submit
from central.execution.domain.planning import Lifecycle, PlanRefused, Resource, plan
from central.execution.domain.run import Run, StageName
from central.execution.entrypoints.command_wire import commands_body
from central.execution.entrypoints.requests import run_request
from central.execution.entrypoints.run_wire import RUN_BYTES_MAX, RunCreateBody
from central.kernel.problems import Problem
from central.kernel.site_feed import FeedPage
from central.kernel.strict_json import decode, encode
from site_bundle.kernel.https import HttpsLimits
from site_bundle.kernel.strict_json import decode_object
from site_bundle.runtime.adapters.wire_commands import (
    MAX_COMMANDS,
    CommandsBody,
    decode_command,
    encode_command,
)
from site_bundle.runtime.domain.feed import Page
from tests.unit.central.execution.values import IDENTITY, MEMBER, NOW

PROJECT = UUID(int=10)
BODY: dict[str, Any] = {
    "schema": 1, "site": "slurm", "allocationId": None,
    "repository": {"url": "https://git.example.org/g/p.git", "commit": "a" * 40},
    "argv": ["true"], "environment": {}, "resources": {"cpu": 1000, "memory": 1 << 30},
    "timeLimitSeconds": 60, "outputs": [], "deadline": "2026-11-30T13:00:00Z",
}  # fmt: skip


MOST = 2**63 - 1
ENOUGH = {"cpu": MOST, "memory": MOST}
RESOURCE = Resource(UUID(int=40), "p1", Lifecycle.READY, NOW, ENOUGH)


def accepted(body: dict[str, Any], number: int = 0) -> Run | None:
    """The Run of a member's body; None when central refuses it."""
    raw = encode(body)
    try:
        if len(raw) > RUN_BYTES_MAX:
            return None
        request = run_request(PROJECT, decode(raw, RunCreateBody))
        plan(request, [replace(RESOURCE, applied={**ENOUGH, **dict.fromkeys(request.amounts, MOST)})], NOW)
    except PlanRefused:
        return None
    except Problem as refused:
        assert refused.spec.status == 400
        return None
    run_id = uuid5(PROJECT, str(number))
    return accept(run_id, request, UUID(int=40), identity=IDENTITY, member=MEMBER, now=NOW).run


def answer(runs: list[Run], after: int = 0) -> bytes:
    """Central's answer: every stage of every Run, in order."""
    until = NOW + timedelta(seconds=60)
    listed = [
        Listed(number, uuid5(PROJECT, f"c{number}"), NOW, submit(run, stage), run.attempt.attempt_id, run)
        for number, (run, stage) in enumerate(((run, stage) for run in runs for stage in StageName), 1)
    ]
    entries = [each for each in listed if each.sequence > after][:MAX_COMMANDS]
    last = entries[-1].sequence if entries else after
    page = FeedPage(UUID(int=7), after, tuple(entries), last, last < len(listed))
    return encode(commands_body("slurm", page, [Bounded(each, until) for each in entries]))


def read(raw: bytes) -> Page:
    """As the Runtime reads it, and keeps it in its journal."""
    limit = HttpsLimits().answer_bytes
    assert len(raw) <= limit, "a Site gives up on a longer answer"
    page = decode_object(raw, CommandsBody, max_bytes=limit).page()
    for command in page.commands:
        assert decode_command(encode_command(command)) == command
    return page


@pytest.mark.parametrize(
    "changes",
    [
        {"outputs": [".GIT/config"]},
        {"outputs": ["a/.Git"]},
        {"outputs": ["a/", "-rf", ":(top)x", "a b", "é", "..a", "a..", ".gitignore"]},
        {"resources": {"cpu": 1000, "memory": 1 << 30, "gpu.A.B": 0}},
        {"resources": {"cpu": 1000, "memory": 1 << 30, "gpu.A100": 0}},
        {"resources": {"cpu": 1000, "memory": 1 << 30, "gpu." + "a" * 40: 0}},
        {"resources": {"cpu": 1000, "memory": 1 << 30, "ephemeral_storage": 0}},
        {"resources": {"cpu": 1, "memory": 2**63 - 1}},
        {"environment": {"A" * 128: "\u2028\t\n", "_": ""}},
        {"environment": {"gIT_DIR": "x", "Path": "y"}},
        {"argv": ["\u0085\u200e\ufeff", ""]},
        {"argv": ["\U0001f600" * 32_000]},
        {"argv": ['"\\' * 60_000]},
        {"argv": ["x"] * 256},
        {"repository": {"url": "https://-h.example/..%2f/%00/'$(x)'", "commit": "b" * 64}},
        {"repository": {"url": "https://h:99999/a/../b", "commit": "b" * 64}},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_x10_e3_nothing_a_member_may_ask_for_is_outside_the_sites_grammar(changes: dict[str, Any]) -> None:
    run = accepted(BODY | changes)
    if run is not None:
        assert len(read(answer([run])).commands) == 3


NAMES = st.text(st.sampled_from("aZ_.-09/ é\t\n:GIT$\u2028"), min_size=1, max_size=12)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BODIES = st.fixed_dictionaries(
    {
        "outputs": st.lists(
            st.one_of(NAMES, st.from_regex(r"\A(a|\.[gG][iI][tT]|\.{1,3}|/){1,4}\Z")), max_size=3
        ),
        "argv": st.lists(WORDS, min_size=1, max_size=3),
        "environment": st.dictionaries(
            st.one_of(NAMES, st.from_regex(r"\A[A-Za-z_]{1,9}\Z")), WORDS, max_size=3
        ),
        "resources": st.builds(
            lambda more: {"cpu": 1000, "memory": 1 << 20} | more,
            st.dictionaries(
                st.one_of(
                    NAMES,
                    st.from_regex(r"\Agpu\.[A-Za-z0-9._-]{1,70}\Z"),
                    st.sampled_from(["cpu", "storage"]),
                ),
                st.integers(-1, 2**63),
                max_size=2,
            ),
        ),
        "repository": st.builds(
            lambda tail: {"url": f"https://h/{tail}", "commit": "a" * 40},
            st.text(st.sampled_from("aZ0/._~!$&'()*+,;=%-#?@: \n"), max_size=8),
        ),
    }
)


@settings(max_examples=250, deadline=None)
@given(BODIES)
def test_x10_e3_whatever_central_accepts_the_site_reads(changes: dict[str, Any]) -> None:
    run = accepted(BODY | changes)
    if run is not None:
        assert len(read(answer([run])).commands) == 3


def test_x10_e3_large_runs_of_one_member_do_not_make_an_answer_nobody_reads() -> None:
    """Page by page, each within what a Site takes, to the last command, none left out and none twice."""
    runs = [accepted(BODY | {"argv": ['"' * 120_000]}, number) for number in range(12)]
    whole = [run for run in runs if run is not None]
    assert len(whole) == 12
    after, seen = 0, []
    while True:
        page = read(answer(whole, after))
        seen += [command.sequence for command in page.commands]
        assert page.reach == seen[-1]
        if not page.more:
            break
        after = page.reach
    assert seen == list(range(1, 37))
