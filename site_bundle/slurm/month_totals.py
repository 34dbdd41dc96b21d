"""`sacct`: what each account held in one month, in resource-seconds of AllocTRES (S8; W05, W14, W40, D16).

A month is half-open and UTC: of a job only the seconds inside are counted, so two months never share one.
Rows stream through. A line that is none makes every total unreadable; a run that cannot be read makes its
account's so, for a sum without it is wrong, and no other's (A21, A27).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.tres import parse_tres

MAX_KEYS = 50_000
Totals = dict[str, dict[str, int] | None]
"""Resource-seconds by account and TRES name (`mem` in byte-seconds); None for an unreadable account."""


@dataclass(frozen=True, slots=True)
class ShowMonth:
    """Every run that overlaps begin…end of `cluster`, requeued runs each once (A10)."""

    cluster: str
    begin: datetime
    end: datetime

    def argv(self) -> list[str]:
        flags = ["--noheader", "--parsable2", "--allocations", "--duplicates", "--allusers", "--noconvert"]
        window = [f"--starttime={_shown(self.begin)}", f"--endtime={_shown(self.end)}"]
        return [
            "sacct",
            *flags,
            f"--clusters={self.cluster}",
            *window,
            "--format=Account,AllocTRES,Start,End",
        ]

    def total(self, lines: Iterable[str]) -> Totals:
        """The sums over `lines`. A run that is not over lasts to the window's end (A18); one that never began
        held nothing (A17); one that ended before it began is unreadable (A21). UnreadableOutputError.
        """
        low, high = float(int(self.begin.timestamp())), float(int(self.end.timestamp()))
        totals: Totals = {}
        # By account and TRES as the row writes them: each is parsed once. Whole seconds are exact as floats
        # (a sum far below 2^53), and a float's digits are read in a third of the time of an integer's.
        seconds: dict[str, float] = {}
        for line in lines:
            try:
                key, begun, ended = line.rsplit("|", 2)
                begin, end = float(begun), float(ended)
                inside = low <= begin < end <= high  # as most are
            except ValueError:
                inside = False
            if not inside:
                key, begin, end = _row(line, high)
                if end < begin < high:
                    totals[key.partition("|")[0]] = None
                begin, end = max(begin, low), min(end, high)
                if end <= begin:
                    continue
            try:
                seconds[key] += end - begin
            except KeyError:
                seconds[key] = end - begin
                if len(seconds) > MAX_KEYS:
                    _fold(seconds, totals)
        _fold(seconds, totals)
        return totals


def _row(line: str, high: float) -> tuple[str, float, float]:
    """Account and TRES, start and end of a row. UnreadableOutputError."""
    try:
        key, begun, ended = line.rsplit("|", 2)
        return key, _instant(begun, high), _instant(ended, high)
    except (ValueError, OverflowError) as error:
        raise UnreadableOutputError("a row that is not account, TRES, start and end") from error


def _instant(text: str, high: float) -> float:
    """Seconds; `Unknown` and `None` are not yet, so beyond the window. ValueError."""
    return high if text in {"Unknown", "None", ""} else float(int(text))


def _fold(seconds: dict[str, float], totals: Totals) -> None:
    for key, held in seconds.items():
        account, bar, tres = key.partition("|")
        if not bar or "|" in tres:
            raise UnreadableOutputError("a row that is not account, TRES, start and end")
        kept = totals.setdefault(account, {})
        if kept is None:
            continue
        try:
            if not held.is_integer():
                raise UnreadableOutputError("a start or an end that is no whole second")
            counts = parse_tres(tres)
        except UnreadableOutputError:
            totals[account] = None
            continue
        for name, count in counts.items():
            kept[name] = kept.get(name, 0) + count * int(held)
    seconds.clear()


def _shown(instant: datetime) -> str:
    """As sacct reads it, in the zone the client sets (UTC)."""
    return instant.strftime("%Y-%m-%dT%H:%M:%S")
