"""What a pass of the reporter costs, whatever the number of accounts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.ranges import NumberRange
from site_bundle.reporter.adapters.slurm_cluster import SlurmCluster
from site_bundle.reporter.adapters.sqlite_journal import open_report_journal
from site_bundle.reporter.adapters.wire_reports import SetEncoding, encode_report
from site_bundle.reporter.application.apply_identities import ApplyIdentities
from site_bundle.reporter.application.make_reports import MakeReports, ReportLimits
from site_bundle.reporter.application.observe_site import ObserveSite
from site_bundle.reporter.application.prove_absence import ProveAbsence
from site_bundle.reporter.application.read_outside import ReadOutside
from site_bundle.reporter.domain.marker import Identity
from site_bundle.reporter.domain.policy import Policy
from site_bundle.reporter.domain.presence import Claim, Presence
from site_bundle.reporter.domain.sources import (
    Directory,
    Listing,
    Member,
    Person,
    Project,
    Retained,
    Row,
    RowState,
)
from site_bundle.slurm.client import SlurmClient, SlurmLimits
from site_bundle.slurm.month_totals import ShowMonth, Totals
from tests.bench.measure import Result, paired, seconds
from tests.simulators.slurm.world import Cluster

ROUNDS = 15
ROWS = 100_000
FEW, MANY = 50, 5000
A_PROJECT = 25
SPACE = UUID(int=0)
MONTH = ShowMonth("icarus", datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))


def _rows() -> list[str]:
    """A month of jobs as sacct prints them: 500 accounts, 40 sizes, times of their own."""
    begin = int(MONTH.begin.timestamp())
    sizes = [
        f"billing={n},cpu={n},gres/gpu:gh200={n % 4},gres/gpu={n % 4},mem={n * 2000}M,node=1"
        for n in range(1, 41)
    ]
    return [
        f"proj_{n % 500}|{sizes[n % 40]}|{begin + n * 17}|{begin + n * 17 + 60 + n % 9000}"
        for n in range(ROWS)
    ]


class _SplitOnly(ShowMonth):
    """The same command and the same stream of rows; each is split, and that is all."""

    def total(self, lines: Iterable[str]) -> Totals:
        for line in lines:
            line.split("|")
        return {}


def sacct_vs_split() -> Result:
    """Rows a second of the month's totals / of splitting the same rows from the same command."""
    with tempfile.TemporaryDirectory() as folder:
        rows, command = Path(folder) / "rows", Path(folder) / "sacct"
        rows.write_text("".join(f"{row}\n" for row in _rows()))
        command.write_text(f"#!/bin/sh\nexec /bin/cat {rows}\n")
        command.chmod(0o755)
        client = SlurmClient(commands=Path(folder), environment=os.environ, limits=SlurmLimits())
        floor = _SplitOnly(MONTH.cluster, MONTH.begin, MONTH.end)
        return paired(
            ROUNDS,
            over=lambda: ROWS / seconds(lambda: client.month(MONTH)),
            under=lambda: ROWS / seconds(lambda: client.month(floor)),
        )


class _Site:
    """`number` members of as many Projects as it takes; Waldur, directory and intake in memory."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.names = [f"m{n}" for n in range(number)]
        self.project_ids = [uuid5(SPACE, f"project {n}") for n in range(max(1, number // A_PROJECT))]
        rows = cluster.world["associations"]
        for n, _ in enumerate(self.project_ids):
            rows.append(_association(len(rows) + 1, f"proj_{n}", "", "pharos"))
        for n, name in enumerate(self.names):
            rows.append(_association(len(rows) + 1, f"proj_{n % len(self.project_ids)}", name, ""))
        cluster.set(associations=rows)

    def resources(self) -> Listing:
        return Listing(
            tuple(
                Row(uuid5(SPACE, f"resource {n}"), project, f"proj_{n}", RowState.OK, False)
                for n, project in enumerate(self.project_ids)
            )
        )

    def read(self) -> Directory:
        people = {
            name: (Person(uuid5(SPACE, name), 5_000_000 + n, 5_500_000),) for n, name in enumerate(self.names)
        }
        return Directory(people, {}, {5_500_000: "cn=members"}, usual=True)

    def prove(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        raise RuntimeError(f"everybody is shown, and {len(claims)} are asked for")

    def projects(self, wanted: Sequence[UUID]) -> dict[UUID, Project | SiteError | None]:
        return {one: self._project(one) for one in wanted}

    def _project(self, provider_project: UUID) -> Project:
        place = self.project_ids.index(provider_project)
        members = [
            Member(name, uuid5(SPACE, f"party {name}"), Identity(uuid5(SPACE, f"binding {name}"), 1), True)
            for name in self.names[place :: len(self.project_ids)]
        ]
        return Project(provider_project, tuple(members))

    def retained(self) -> tuple[Retained, ...]:
        return ()


def _association(number: int, account: str, user: str, parent: str) -> dict[str, object]:
    row = {"account": account, "user": user, "partition": "", "parent": parent, "tres": "", "comment": ""}
    return row | {"id": number}


@contextmanager
def _observing(number: int) -> Iterator[tuple[ObserveSite, SlurmClient]]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "slurm")
        site = _Site(cluster, number)
        client = SlurmClient(commands=cluster.folder, environment=os.environ, limits=SlurmLimits())
        slurm = SlurmCluster(client, cluster="icarus", parent_account="pharos")
        journal = open_report_journal(Path(folder) / "journal.sqlite")
        make = MakeReports(
            instance="waldur.example",
            offering_id=SPACE,
            new_id=uuid4,
            encode_report=encode_report,
            encode_sets=SetEncoding(),
            limits=ReportLimits(),
        )
        yield (
            ObserveSite(
                outside=ReadOutside(site, site, site),
                cluster=slurm,
                journal=journal,
                outbox=journal,
                absence=ProveAbsence(site.prove, journal),
                apply=ApplyIdentities(slurm, journal, observe=False),
                make=make,
                policy=Policy({"cpu": 16000, "memory": 1 << 30}, "pharos", NumberRange(5_000_000, 5_499_999)),
            ),
            client,
        )
        journal.close()


def _commands(number: int) -> dict[str, float]:
    """Processes of a pass that applies, of one with nothing to apply, and its accounts and seconds."""
    with _observing(number) as (observe, client):
        observe.run(now=datetime.now(UTC))
        applying = client.runs
        while any(item.result != "would" for item in observe.run(now=datetime.now(UTC)).differences):
            pass
        before = client.runs
        took = seconds(lambda: observe.run(now=datetime.now(UTC)))
        still = client.runs - before
        decision = observe.run(now=datetime.now(UTC)).decision
    ready = sum(row.ready for found in decision.sets for row in found.decided.accounts)
    if ready != number:
        raise RuntimeError(f"{ready} accounts of {number} are ready")
    return {"still": still, "applying": applying, "seconds": took, "ready": ready}


def reporter_commands_growth() -> Result:
    """Native commands of a pass at 5,000 accounts / at 50."""
    few, many = _commands(FEW), _commands(MANY)
    detail = {f"{name}_{FEW}": value for name, value in few.items()}
    detail |= {f"{name}_{MANY}": value for name, value in many.items()}
    return Result(many["still"] / few["still"], 1, detail)


MEASURES = (sacct_vs_split, reporter_commands_growth)
