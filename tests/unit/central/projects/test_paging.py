"""An owner's whole set is what was announced, or it was not read (P14, P29)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.kernel.broker import BackOff
from central.kernel.paging import (
    PAGE_BYTES,
    Manifest,
    Page,
    PagesDiffer,
    PagingLimits,
    fingerprint,
    page_length,
    read_whole,
)

SNAPSHOT = UUID(int=1)


@dataclass(frozen=True, slots=True)
class Thing:
    id: UUID
    canonical: bytes


def things(*numbers: int) -> list[Thing]:
    return [Thing(UUID(int=n), b"%d" % n) for n in numbers]


def manifest(of: list[Thing], **changes: object) -> Manifest:
    whole = hashlib.sha256(b"".join(thing.canonical + b"\n" for thing in of)).hexdigest()
    given_ = {"snapshot": SNAPSHOT, "position": 1, "count": len(of), "fingerprint": whole} | changes
    return Manifest(**given_)  # type: ignore[arg-type]


@dataclass(slots=True)
class Owner:
    """Pages of a set as an honest owner makes them."""

    of: list[Thing]
    most: int = 3

    def __call__(self, after: UUID | None, limit: int) -> Page[Thing]:
        rest = [thing for thing in self.of if after is None or thing.id > after]
        page = rest[: min(limit, self.most)]
        return Page(page, page[-1].id if len(rest) > len(page) else None)


@given(st.sets(st.integers(1, 60)), st.integers(1, 9))
def test_a_whole_set_is_read_whatever_the_size_of_its_pages(numbers: set[int], most: int) -> None:
    whole = things(*sorted(numbers))
    assert read_whole(manifest(whole), Owner(whole, most)) == whole


@given(st.sets(st.integers(1, 30), min_size=2), st.data())
def test_any_difference_is_noticed(numbers: set[int], data: st.DataObject) -> None:
    whole = things(*sorted(numbers))
    index = data.draw(st.integers(0, len(whole) - 1))
    altered = list(whole)
    kind = data.draw(st.sampled_from(["lost", "doubled", "changed", "swapped", "added"]))
    if kind == "lost":
        del altered[index]
    elif kind == "doubled":
        altered.insert(index, altered[index])
    elif kind == "changed":
        altered[index] = Thing(altered[index].id, b"another")
    elif kind == "swapped":
        altered[index], altered[index - 1] = altered[index - 1], altered[index]
    else:
        altered += things(31)
    with pytest.raises(PagesDiffer):
        read_whole(manifest(whole), lambda after, limit: Page(altered, None))


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([Page(things(1, 2), UUID(int=1))], "where the next one begins"),
        ([Page(things(1), UUID(int=1)), Page([], UUID(int=1))], "where the next one begins"),
        ([Page(things(1), UUID(int=1)), Page(things(1), UUID(int=1))], "do not ascend"),
        ([Page(things(1), None)], "1 items came, 3 were announced"),
        ([Page(things(1, 2, 3, 4), None)], "more than the 3 announced"),
        ([Page(things(1, 2, 4), None)], "fingerprint"),
    ],
)
def test_pages_that_do_not_fit_are_refused(pages: list[Page[Thing]], reason: str) -> None:
    coming = iter(pages)
    with pytest.raises(PagesDiffer, match=reason):
        read_whole(manifest(things(1, 2, 3)), lambda after, limit: next(coming))


def test_more_than_the_limit_is_not_even_begun() -> None:
    def never(after: UUID | None, limit: int) -> Page[Thing]:
        raise AssertionError("no page is asked for")

    with pytest.raises(PagesDiffer, match="11 items are announced; at most 10 are read"):
        read_whole(manifest([], count=11), never, limits=PagingLimits(items=10))


def test_the_page_size_is_asked_for() -> None:
    asked: list[tuple[UUID | None, int]] = []
    owner = Owner(things(*range(1, 6)), most=100)

    def read_page(after: UUID | None, limit: int) -> Page[Thing]:
        asked.append((after, limit))
        return owner(after, limit)

    read_whole(manifest(owner.of), read_page, limits=PagingLimits(page=2))
    assert asked == [(None, 2), (UUID(int=2), 2), (UUID(int=4), 2)]


def test_an_empty_set_has_the_fingerprint_of_nothing() -> None:
    assert fingerprint([]) == hashlib.sha256(b"").hexdigest()
    assert read_whole(manifest([]), Owner([])) == []


@pytest.mark.parametrize(
    ("attempt", "pause"), [(1, 1.0), (2, 2.0), (5, 16.0), (9, 256.0), (10, 300.0), (9999, 300.0)]
)
def test_pauses_double_up_to_the_longest(attempt: int, pause: float) -> None:
    assert BackOff().pause(attempt) == pause


@pytest.mark.parametrize(
    ("sizes", "limit", "length"),
    [
        ([], 3, 0),
        ([10] * 2, 3, 2),
        ([10] * 4, 3, 3),
        ([PAGE_BYTES - 1, 1, 1], 3, 2),
        ([PAGE_BYTES + 1, 1], 3, 1),
        ([1, PAGE_BYTES], 3, 1),
    ],
)
def test_p29_a_page_ends_before_its_message_is_full(sizes: list[int], limit: int, length: int) -> None:
    assert page_length(sizes, limit) == length
