"""Strict RFC 3339, one text form out (X2)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.kernel.errors import CorruptState, InvalidTime, ObservedInFuture
from central.kernel.times import (
    AHEAD_MAX,
    check_not_ahead,
    format_rfc3339,
    parse_observed,
    parse_rfc3339,
    stored_instant,
    utc_now,
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00+00:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:30:00+02:30", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2025-12-31T19:00:00-05:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.5Z", datetime(2026, 1, 1, microsecond=500000, tzinfo=UTC)),
        ("2026-01-01T00:00:00.000001Z", datetime(2026, 1, 1, microsecond=1, tzinfo=UTC)),
        ("2024-02-29T23:59:59Z", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_x2_valid_times_become_utc(text: str, instant: datetime) -> None:
    found = parse_rfc3339(text)
    assert found == instant
    assert found.utcoffset() == timedelta()


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("e09_naive", "2026-01-01T00:00:00"),
        ("e11_nanoseconds", "2026-01-01T00:00:00.123456789Z"),
        ("e11_seven_digits", "2026-01-01T00:00:00.1234567Z"),
        ("e12_basic", "20260101T000000Z"),
        ("e12_week", "2026-W01-1T00:00Z"),
        ("e12_ordinal", "2026-001T00:00:00Z"),
        ("e12_date_only", "2026-01-01"),
        ("e12_comma", "2026-01-01T00:00:00,5Z"),
        ("e12_offset_seconds", "2026-01-01T00:00:00+00:00:30"),
        ("e12_offset_basic", "2026-01-01T00:00:00+0000"),
        ("e12_offset_hour", "2026-01-01T00:00:00+00"),
        ("e12_no_seconds", "2026-01-01T00:00Z"),
        ("e12_space", "2026-01-01 00:00:00Z"),
        ("e12_lower", "2026-01-01t00:00:00z"),
        ("e12_empty_fraction", "2026-01-01T00:00:00.Z"),
        ("e12_final_newline", "2026-01-01T00:00:00Z\n"),
        ("e12_wide_digits", "２０２６-01-01T00:00:00Z"),
        ("f12_infinity", "infinity"),
        ("f12_today", "today"),
        ("f12_hour_24", "2026-01-01T24:00:00Z"),
        ("x2_leap_second", "2016-12-31T23:59:60Z"),
        ("x2_no_such_day", "2026-02-29T00:00:00Z"),
        ("x2_offset_out_of_range", "2026-01-01T00:00:00+24:00"),
        ("x2_offset_minutes", "2026-01-01T00:00:00+01:60"),
        ("x2_before_year_one", "0001-01-01T00:00:00+01:00"),
        ("x2_year_zero", "0000-01-01T00:00:00Z"),
        ("x2_empty", ""),
    ],
)
def test_x2_every_other_form_is_refused_and_not_echoed(case: str, text: str) -> None:
    with pytest.raises(InvalidTime) as refused:
        parse_rfc3339(text, field="observedAt")
    assert str(refused.value).startswith("observedAt: ")
    assert not text or text not in str(refused.value)


@given(st.datetimes(timezones=st.just(UTC)))
def test_x2_one_text_form_reads_back(instant: datetime) -> None:
    text = format_rfc3339(instant)
    assert parse_rfc3339(text) == instant
    assert text.endswith("Z")
    assert ("." in text) == (instant.microsecond != 0)


def test_x2_the_text_form_is_utc_with_six_digits_or_none() -> None:
    there = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert format_rfc3339(there) == "2026-01-01T00:00:00Z"
    assert format_rfc3339(there.replace(microsecond=500000)) == "2026-01-01T00:00:00.500000Z"


def test_e09_a_naive_time_has_no_form_and_a_stored_one_is_corrupt() -> None:
    with pytest.raises(ValueError, match="naive"):
        format_rfc3339(datetime(2026, 1, 1))
    with pytest.raises(CorruptState):
        stored_instant(datetime(2026, 1, 1))
    assert stored_instant(datetime(2026, 1, 1, tzinfo=UTC)).tzinfo is UTC


def test_x2_the_clock_is_aware() -> None:
    assert utc_now().utcoffset() == timedelta()


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "2019-12-31T23:59:59.999999Z"])
def test_x2_nothing_was_observed_before_2020(text: str) -> None:
    with pytest.raises(InvalidTime, match="/observedAt"):
        parse_observed(text, field="/observedAt")
    assert parse_observed("2020-01-01T00:00:00Z", field="/observedAt") == datetime(2020, 1, 1, tzinfo=UTC)


def test_e13_an_observation_may_be_a_little_ahead() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    check_not_ahead(now + AHEAD_MAX, now)
    with pytest.raises(ObservedInFuture, match=r"5\.0 s ahead"):
        check_not_ahead(now + AHEAD_MAX + timedelta(microseconds=1), now)
