"""Codes that no call with a literal code raises (docs/errors.md): those of the peers this component calls,
and those a pass gives to an allocation or an account.
"""

from __future__ import annotations

from site_bundle.kernel.errors import codes_of

ALLOCATION_CODES = {
    "absence_unproven": "an entry that was shown, or has an association, is not, and nothing proves it gone",
    "account_outside_parent": "Slurm shows the allocation's account, but not below slurm.parent_account",
    "account_shared": "two resources that are not terminated name one Slurm account",
    "directory_empty": "the directory shows nobody or no group, where both were proven before: hidden",
    "entry_ambiguous": "several entries of the directory answer to one username, in whatever case",
    "entry_hidden": "a member's entry is there and is not shown to the agent: an access rule hides it",
    "entry_unreadable": "an entry does not show entryUUID, uidNumber and gidNumber, each once",
    "group_hidden": "a member's group is there and is not shown to the agent, or its memberUid is not",
    "incarnation_twice": "two members are one entry of the directory",
    "limits_unreadable": "GrpTRES of the account, or of one above it, cannot be translated exactly",
    "members_unavailable": "central could not say who the Project's members are",
    "row_unreadable": "Waldur's row of the resource breaks its form, or says what this release does not know",
    "usage_unreadable": "what a running job of the account holds cannot be translated exactly",
}
"""Why an allocation has no report of its accounts, or no amounts."""

ACCOUNT_CODES = {
    "association_missing": "Slurm has no association of the member with the allocation's account",
    "binding_unknown": "neither the members nor the retained accounts name the applied binding",
    "entry_absent": "the directory has no entry of that username (proven)",
    "generation_pending": "an older generation is applied; the present one is being written",
    "group_missing": "neither its gidNumber nor a memberUid leads to a group of the GID range",
    "name_refused": "the username is no login name a Slurm Site may have",
    "not_applied": "comment and journal do not prove this binding of this very account yet",
    "uid_out_of_range": "its uidNumber is outside the UID range",
    "unwritable": "the comment holds what sacctmgr would not keep: quotes, line ends, no UTF-8, or too much",
    "unwritten": "sacctmgr was asked, and the comment read back is not the one that was to be written",
}
"""Why one account is not ready, or not in its set."""

CODES = codes_of("intake") | codes_of("waldur") | ALLOCATION_CODES | ACCOUNT_CODES
