"""`sacctmgr modify user … set comment=`: many associations in one process, one line each on its stdin.

Slurm 24.11 lets a coordinator set the comment of associations of its accounts. One `modify` gives all the
associations it selects the same comment, so several need several; sacctmgr without a command reads them from
stdin and goes on after a line that failed. What became of them is read back, never taken from its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LINES = 200  # some 45 ms each
MAX_COMMENT = 1024  # bytes: some builds of sacctmgr read lines of 4096
# Inside double quotes sacctmgr keeps every character but quotes, which it turns into backticks. U+FFFD stands
# for bytes that are no UTF-8: written back, they would be lost (A04).
_WRITABLE = re.compile(r"[^\x00-\x1f\x7f\"'`\u0080-\u009f\u2028\u2029\ufffd]*")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Comment:
    """The whole new comment of one association. An empty partition selects the one without a partition."""

    account: str
    user: str
    partition: str
    text: str


def is_writable(comment: Comment) -> bool:
    """Whether sacctmgr would store exactly this text of exactly this association."""
    names = [comment.account, comment.user, *([comment.partition] if comment.partition else [])]
    return (
        all(_NAME.fullmatch(name) for name in names)
        and len(comment.text.encode()) <= MAX_COMMENT
        and _WRITABLE.fullmatch(comment.text) is not None
    )


@dataclass(frozen=True, slots=True)
class ModifyComments:
    """At most MAX_LINES changes, all writable; ValueError otherwise."""

    cluster: str
    comments: Sequence[Comment]

    def argv(self) -> list[str]:
        return ["sacctmgr", "--immediate", "--noheader"]

    def stdin(self) -> bytes:
        if len(self.comments) > MAX_LINES or not all(map(is_writable, self.comments)):
            raise ValueError("comments that cannot be written in one command")
        return "".join(
            f"modify user where name={comment.user} account={comment.account} cluster={self.cluster}"
            f' partition={comment.partition} set comment="{comment.text}"\n'
            for comment in self.comments
        ).encode()
