"""What central's definite refusals mean here: the codes of docs/wire.md, "Site API: commands" (E3, X7)."""

from __future__ import annotations

# central knows the command otherwise than this journal does: nothing is begun, and there is nothing to tell.
NOT_OURS = frozenset({"command_unknown", "command_acknowledged", "attempt_mismatch"})
# What central will say of these bytes however often they are sent.
FOR_GOOD = NOT_OURS | {"command_reused", "body_invalid"}
# central lost what it had: the acknowledgement goes first, once more.
UNACKNOWLEDGED = "command_not_acknowledged"
# Over by itself, soon: a clock that is ahead, an acknowledgement on its way.
PASSING = frozenset({"observed_in_future", UNACKNOWLEDGED})
