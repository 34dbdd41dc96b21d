"""One history, and the rule for another one."""

from __future__ import annotations

from uuid import UUID

import pytest

from site_bundle.ssh_access.domain.feed import FeedBrokenError, FeedState, Page, follows

ONE, TWO = UUID(int=1), UUID(int=2)


def page(**more: object) -> Page:
    given = {"site": "slurm", "feed": ONE, "after": 5, "changes": (), "reach": 7, "more": False} | more
    return Page(**given)  # type: ignore[arg-type]


def test_first_history_is_taken() -> None:
    assert follows(FeedState(), page(after=0))


def test_next_page_of_the_known_history() -> None:
    assert follows(FeedState("slurm", ONE, ONE, 5), page())


def test_another_history_is_not_followed() -> None:
    assert not follows(FeedState("slurm", ONE, ONE, 5), page(feed=TWO))
    assert not follows(FeedState("slurm", ONE, TWO, 5), page(feed=ONE))


def test_another_site_is_refused() -> None:
    with pytest.raises(FeedBrokenError, match="k8s"):
        follows(FeedState("slurm", ONE, ONE, 5), page(site="k8s"))


def test_answer_to_another_question_is_refused() -> None:
    with pytest.raises(FeedBrokenError):
        follows(FeedState("slurm", ONE, ONE, 6), page())


def test_removals_need_the_accepted_history() -> None:
    assert FeedState(accepted=ONE, current=ONE).removals_allowed
    assert not FeedState(accepted=ONE, current=TWO).removals_allowed
