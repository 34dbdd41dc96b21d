"""What the runtime needs of Slurm, read and judged: partitions, token settings, key sets (I9, S2). Parsers of
recorded output; no command is run here.
"""

import re
from collections.abc import Mapping
from typing import Final

from installer.domain.slurm import SlurmUnreadable
from installer.domain.strict_json import StrictJsonError, decode_object

UNLIMITED: Final = 0
_TIME: Final = re.compile(r"(?:(\d{1,5})-)?(\d{2}):(\d{2}):(\d{2})", re.ASCII)
_PAIR: Final = re.compile(r"([A-Za-z][A-Za-z0-9_/:]*)=(\S*)", re.ASCII)


def parse_partitions(text: str) -> Mapping[str, Mapping[str, str]]:
    """``scontrol --all --oneliner show partition``: fields by partition, names of fields in lower case.

    Raises SlurmUnreadable.
    """
    found: dict[str, Mapping[str, str]] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        fields = {name.casefold(): value for name, value in _PAIR.findall(line)}
        name = fields.get("partitionname")
        if not name:
            raise SlurmUnreadable(f"PartitionName=… was wanted, found {line[:60]!a}")
        found[name] = fields
    return found


def parse_seconds(text: str) -> int:
    """A time limit, ``[D-]HH:MM:SS`` or ``UNLIMITED`` (0). Raises SlurmUnreadable."""
    if text == "UNLIMITED":
        return UNLIMITED
    match = _TIME.fullmatch(text)
    if match is None:
        raise SlurmUnreadable(f"[D-]HH:MM:SS was wanted, found {text[:40]!a}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def parse_parameters(text: str) -> Mapping[str, str]:
    """``name=value,…`` as ``AuthAltParameters`` has it, names in lower case; a word alone has no value."""
    pairs = (word.partition("=") for word in text.split(",") if word.strip())
    return {name.strip().casefold(): value.strip() for name, _, value in pairs}


def parse_key_ids(data: bytes) -> frozenset[str]:
    """The ``kid`` of each key of a JWK Set (RFC 7517 §5). Raises SlurmUnreadable; one without ``kid`` or with
    another's cannot be compared.
    """
    try:
        keys = decode_object(data).get("keys")
    except StrictJsonError as error:
        raise SlurmUnreadable(f"a JWK Set was wanted: {error}") from error
    if not isinstance(keys, list) or not keys or not all(isinstance(key, dict) for key in keys):
        raise SlurmUnreadable("a JWK Set with keys in it was wanted (RFC 7517)")
    ids = [key.get("kid") for key in keys if isinstance(key, dict)]
    if not all(isinstance(kid, str) and kid for kid in ids) or len(set(ids)) != len(ids):
        raise SlurmUnreadable("a key without an id (kid) of its own")
    return frozenset(str(kid) for kid in ids)
