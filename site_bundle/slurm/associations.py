"""`sacctmgr show association`: the whole tree of one cluster, in one answer (S8, W09, W28, W29, W36)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from site_bundle.slurm.command import MACHINE_READABLE
from site_bundle.slurm.errors import UnreadableOutputError

_FIELDS = ("Cluster", "Account", "User", "Partition", "ParentName", "GrpTRES", "Comment", "ID")
# Of each row only what was set there (sacctmgr(1)): Grp limits are never inherited, and slurmdbd else looks
# up what stands above every account, which is most of its time where accounts are many.
_OWN_LIMITS = "WOPLimits"
# The comment is the one field whose text is free: it may hold pipes and line ends (W27). ID ends a record.
_RECORD = re.compile(
    r"([^|\n]+)\|([^|\n]+)\|([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|(.*)\|([1-9][0-9]*)", re.DOTALL
)
_ENDED = re.compile(r"\|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Association:
    """One row. An account's own row has no user; only it has a parent. `grp_tres` as Slurm wrote it."""

    id: int
    account: str
    user: str
    partition: str
    parent: str
    grp_tres: str
    comment: str


@dataclass(frozen=True, slots=True)
class ShowAssociations:
    """Every association of `cluster` that this identity may see."""

    cluster: str

    def argv(self) -> list[str]:
        wanted = f"format={','.join(_FIELDS)}"
        shown = ["show", "association", _OWN_LIMITS, f"cluster={self.cluster}", wanted]
        return ["sacctmgr", *MACHINE_READABLE, *shown]

    def parse(self, output: str) -> tuple[Association, ...]:
        """UnreadableOutputError for a cut or foreign row: none is ever skipped (A07, A50)."""
        found = tuple(self._association(record) for record in self._records(output))
        if len({item.id for item in found}) != len(found):
            raise UnreadableOutputError("one association id stands twice")
        # A comment can look like rows; what it cannot do is stand for a place in the tree that is taken.
        if len({(item.account, item.user, item.partition) for item in found}) != len(found):
            raise UnreadableOutputError("one association stands twice")
        return found

    def _records(self, output: str) -> list[str]:
        records: list[str] = []
        for line in output.split("\n"):
            begins = line.startswith(f"{self.cluster}|")
            if records and not (begins and _ENDED.fullmatch(records[-1][records[-1].rfind("|") :])):
                records[-1] += f"\n{line}"
            elif line:
                records.append(line)
        return [record.removesuffix("\n") for record in records]

    def _association(self, record: str) -> Association:
        match = _RECORD.fullmatch(record)
        if match is None:
            raise UnreadableOutputError("a row that is not of the asked fields")
        cluster, account, user, partition, parent, tres, comment, number = match.groups()
        if cluster != self.cluster:
            raise UnreadableOutputError("a row of another cluster")
        if any(name.endswith("+") for name in (account, user, partition, parent)):
            raise UnreadableOutputError("a name cut by its column")
        return Association(int(number), account, user, partition, parent, tres, comment)
