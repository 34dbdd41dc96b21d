"""Secrets in files: systemd credentials (0440 with an ACL), mounted secrets, an administrator's 0600 file
(X5).
"""

import os
import stat
from pathlib import Path

MAX_SECRET_BYTES = 65536


class PrivateFileRefused(Exception):
    """The file is missing, readable or writable by others, or not one line of text; never says what it
    holds.
    """


def check_private_file(path: Path) -> None:
    """Refuse a path that is not absolute, not a regular file, open to others or owned by another user."""
    if not path.is_absolute():
        raise PrivateFileRefused("is named by a relative path; wanted an absolute one")
    try:
        found = path.stat()
    except OSError as error:
        raise PrivateFileRefused(f"cannot be read: {os.strerror(error.errno or 0)}") from None
    _check(found)


def read_private_file(path: Path) -> str:
    """Return the secret: UTF-8 text, one final newline taken off, checked on the very file that is read."""
    if not path.is_absolute():
        raise PrivateFileRefused("is named by a relative path; wanted an absolute one")
    try:
        with os.fdopen(_open(path), "rb") as file:
            _check(os.fstat(file.fileno()))
            content = file.read(MAX_SECRET_BYTES + 1)
    except OSError as error:
        raise PrivateFileRefused(f"cannot be read: {os.strerror(error.errno or 0)}") from None
    try:
        text = content.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        raise PrivateFileRefused("is not UTF-8 text") from None
    if len(content) > MAX_SECRET_BYTES or not text.strip() or "\x00" in text:
        raise PrivateFileRefused(f"is empty, holds NUL or more than {MAX_SECRET_BYTES} bytes")
    return text


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not block the start


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise PrivateFileRefused("is not a regular file")
    if found.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise PrivateFileRefused("is open to others; take their rights away (chmod 0600 or 0440)")
    if found.st_uid not in {0, os.geteuid()}:
        raise PrivateFileRefused("belongs to another user")
