"""What an operator is told of a Run's attempts (O1, E7)."""

from central.execution.domain.attempts import retry
from central.processes.explain_execution import attempt_links
from tests.unit.central.execution.settled import cleaned, failed, settled_run
from tests.unit.central.execution.values import MEMBER, NOW, OTHER, new_run


def test_e7_who_asked_for_an_attempt_is_told_after_another_one_followed_it_too() -> None:
    second = retry(settled_run(), OTHER, NOW)
    third = retry(cleaned(failed(second)), MEMBER, NOW).run
    told = {link.name: link.text for link in attempt_links(third, NOW)}
    assert told == {
        "attempt 1": "failed (stage_in_failed)",
        "attempt 2": f"failed (stage_in_failed), a retry, asked for by Party {OTHER}",
        "attempt 3": f"a retry, asked for by Party {MEMBER}",
    }


def test_o1_of_an_only_attempt_there_is_nothing_to_tell() -> None:
    assert list(attempt_links(new_run().run, NOW)) == []
