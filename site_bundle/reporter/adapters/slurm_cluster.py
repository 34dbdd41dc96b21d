"""The cluster as the use cases want it: four commands a pass, whatever the number of accounts (S8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from site_bundle.reporter.domain.accounts import Apply
from site_bundle.reporter.domain.amounts import ANY_GPU, MAX_AMOUNT, Amounts
from site_bundle.reporter.domain.marker import with_marker
from site_bundle.reporter.domain.sources import Association, Slurm, SlurmAccount
from site_bundle.reporter.domain.usage import Month
from site_bundle.slurm import tres
from site_bundle.slurm.associations import Association as NativeAssociation
from site_bundle.slurm.associations import ShowAssociations
from site_bundle.slurm.client import SlurmClient
from site_bundle.slurm.comments import Comment, ModifyComments, is_writable
from site_bundle.slurm.errors import SlurmUnavailableError, UnreadableOutputError
from site_bundle.slurm.known_tres import ShowTres
from site_bundle.slurm.month_totals import ShowMonth
from site_bundle.slurm.nodes import Node, ShowNodes
from site_bundle.slurm.running_jobs import RunningJob, ShowRunningJobs

_GPU_MODEL = f"{tres.GPU}:"


class SlurmCluster:
    """The port `Cluster`."""

    def __init__(self, client: SlurmClient, *, cluster: str, parent_account: str) -> None:
        self._client = client
        self._cluster = cluster
        self._parent = parent_account

    def read(self) -> Slurm:
        accounts = _accounts(self._client.read(ShowAssociations(self._cluster)))
        if self._parent not in accounts:
            # An answer without it is one of a cluster accounting does not know, or a hidden one (A50).
            raise SlurmUnavailableError(
                "slurm_parent_missing",
                found=f"no account {self._parent} on cluster {self._cluster}",
                wanted="the parent account of the allocations, visible to this identity",
                remedy="correct slurm.cluster and slurm.parent_account in the profile",
            )
        nodes = self._client.read(ShowNodes())
        jobs = self._client.read(ShowRunningJobs())
        known = self._client.read(ShowTres())
        return Slurm(accounts, tuple(map(_node, nodes)), _jobs(jobs), _known(known))

    def comments(self) -> Mapping[int, str]:
        return {item.id: item.comment for item in self._client.read(ShowAssociations(self._cluster))}

    def apply(self, acts: Sequence[Apply]) -> None:
        self._client.write(ModifyComments(self._cluster, [_comment(act) for act in acts]))

    def node_seconds(self, month: Month) -> dict[str, int | None]:
        """The port `Accounting`."""
        totals = self._client.month(ShowMonth(self._cluster, month.begin, month.end))
        return {
            account.lower(): None if held is None else held.get(tres.NODE, 0)
            for account, held in totals.items()
        }

    def writable(self, act: Apply) -> bool:
        return is_writable(_comment(act))


def _comment(act: Apply) -> Comment:
    found = act.association
    return Comment(act.account, found.user, found.partition, with_marker(found.comment, act.identity))


def _accounts(rows: Iterable[NativeAssociation]) -> dict[str, SlurmAccount]:
    """Accounts by lower-case name (W28). Limits stand in the account's own row alone (W09, W29); an account
    that shows users and no row of its own is there, and neither its parent nor its limits are known (X1).
    """
    own: dict[str, NativeAssociation] = {}
    users: dict[str, list[Association]] = {}
    for row in rows:
        name = row.account.lower()
        if row.user:
            users.setdefault(name, []).append(Association(row.id, row.user, row.partition, row.comment))
        else:
            own[name] = row
    hidden = {name: SlurmAccount(name, "", None, tuple(users[name])) for name in users.keys() - own.keys()}
    return hidden | {
        name: SlurmAccount(name, row.parent.lower(), _limits(row.grp_tres), tuple(users.get(name, ())))
        for name, row in own.items()
    }


def _limits(text: str) -> Amounts | None:
    try:
        return canonical(tres.parse_tres(text))
    except UnreadableOutputError:
        return None


def _node(node: Node) -> Amounts:
    found = _limits(node.cfg_tres)
    if found is None:
        raise SlurmUnavailableError(
            "slurm_node_unreadable",
            found=f"node {node.name} has a CfgTRES that cannot be translated exactly",
            wanted="whole numbers",
            remedy="look at scontrol show node",
        )
    return found


def _jobs(jobs: Iterable[RunningJob]) -> dict[str, tuple[Amounts | None, ...]]:
    held: dict[str, list[Amounts | None]] = {}
    for job in jobs:
        found = _limits(job.alloc_tres)
        if found is not None:
            typed = sum(amount for name, amount in found.items() if name.startswith(f"{ANY_GPU}."))
            # Devices without a model belong to no component: of this job nothing exact can be said.
            found = found if found.get(ANY_GPU, 0) <= typed else None
        held.setdefault(job.account.lower(), []).append(found)
    return {name: tuple(found) for name, found in held.items()}


def _known(names: Iterable[str]) -> frozenset[str]:
    return frozenset(canonical(dict.fromkeys(names, 0))) - {ANY_GPU}


def canonical(counts: Mapping[str, int]) -> Amounts:
    """Slurm's counts in canonical units (X3); what has no component here is left out (A22, W37)."""
    found: dict[str, int] = {}
    for name, count in counts.items():
        if name == tres.CPU:
            found["cpu"] = count * 1000
        elif name == tres.MEMORY:
            found["memory"] = count
        elif name == tres.GPU:
            found[ANY_GPU] = count
        elif name.startswith(_GPU_MODEL):
            found[f"{ANY_GPU}.{name.removeprefix(_GPU_MODEL).lower()}"] = count
    if any(amount > MAX_AMOUNT for amount in found.values()):
        raise UnreadableOutputError("an amount beyond 2^63-1")
    return found
