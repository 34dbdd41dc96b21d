"""Becoming the component's own user: what a command started by root does must be what the unit could do."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.https import load_client


def become_component(user: str, state_directory: Path, groups: Sequence[int] = ()) -> bool:
    """As root: gives up root for the owner of the component's state folder, or for `user` when there is
    none yet; with the supplementary `groups` its unit has, and no other.

    False when the process is not root (it stays who it is). SiteError when the user does not exist. Not
    undone.
    """
    if os.geteuid() != 0:
        return False
    try:
        state = state_directory.stat()
        uid, gid = state.st_uid, state.st_gid
    except OSError:
        uid, gid = _account(user)
    if uid == 0:
        return False
    # An interpreter of root's own is not the component's to read.
    load_client()
    os.setgroups(list(groups))
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    return True


def _account(user: str) -> tuple[int, int]:
    try:
        account = pwd.getpwnam(user)
    except KeyError as error:
        raise SiteError(
            "user_missing",
            found=f"no user {user}",
            wanted="the component's own user",
            remedy="run pharos-installer install: it places sysusers.d",
        ) from error
    return account.pw_uid, account.pw_gid
