"""Events and snapshots become the view, and the view answers or says that it cannot (P13, P14, P17)."""

from __future__ import annotations

from uuid import UUID

import pytest

from central.kernel.errors import Unavailable
from tests.postgres.projects.conftest import View
from tests.simulators.beto.truth import WALDUR

REF = "00000000-0000-4000-8000-000000000310"


def test_an_event_becomes_the_view_and_resolves(view: View) -> None:
    view.load()
    project, change = view.beto.truth.new_project(REF)
    view.beto.tell(change)
    view.beto.flush(view.broker)
    assert [handled.applied for handled in view.consume()] == [1, 0, 0]
    assert view.resolve.resolve(WALDUR, [REF]) == {REF: UUID(project)}


def test_nothing_is_absent_before_the_first_load(view: View) -> None:
    _, change = view.beto.truth.new_project(REF)
    view.beto.tell(change)
    view.beto.flush(view.broker)
    view.consume()
    with pytest.raises(Unavailable, match="uninitialised"):
        view.resolve.resolve(WALDUR, [REF])
