"""Large objects: the batch API and the basic transfer of Git LFS (git-lfs docs/api)."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

MEDIA: Final = "application/vnd.git-lfs+json"
OBJECT_MAX: Final = 64 * 1024 * 1024
OBJECTS_MAX: Final = 100
_OID: Final = re.compile(r"[0-9a-f]{64}")


class LfsRefused(Exception):
    """A request that is not LFS's, with the status to answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def batch(repository: Path, body: bytes, href: str, authorization: str, may_write: bool) -> dict[str, Any]:
    """Answers `POST …/info/lfs/objects/batch`: where each object is got or put.

    `href` is the address of the objects; the caller's own authorization goes into the actions' headers.
    """
    try:
        asked = json.loads(body)
        operation = asked["operation"]
        objects = [(str(each["oid"]), int(each["size"])) for each in asked["objects"]]
    except (ValueError, KeyError, TypeError) as error:
        raise LfsRefused(422, "not a batch request") from error
    if operation not in ("download", "upload") or len(objects) > OBJECTS_MAX:
        raise LfsRefused(422, "unknown operation or too many objects")
    if operation == "upload" and not may_write:
        raise LfsRefused(403, "this credential may not write")
    header = {"Authorization": authorization}
    told = [_object(repository, operation, oid, size) for oid, size in objects]
    for each in told:
        for action in each.get("actions", {}).values():
            action |= {"href": f"{href}/{each['oid']}", "header": header}
    return {"transfer": "basic", "hash_algo": "sha256", "objects": told}


def _object(repository: Path, operation: str, oid: str, size: int) -> dict[str, Any]:
    told: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
    if not _OID.fullmatch(oid) or not 0 <= size <= OBJECT_MAX:
        return {**told, "error": {"code": 422, "message": "not an object's id or size"}}
    there = stored(repository, oid) is not None
    if operation == "download":
        if not there:
            return {**told, "error": {"code": 404, "message": "no such object"}}
        return {**told, "actions": {"download": {}}}
    return told if there else {**told, "actions": {"upload": {}}}


def stored(repository: Path, oid: str) -> Path | None:
    """The file of an object, or None: proven absent."""
    path = repository / "lfs" / oid
    return path if _OID.fullmatch(oid) and path.is_file() else None


def store(repository: Path, oid: str, body: Iterator[bytes]) -> None:
    """Keeps an object whose bytes have the digest `oid` names; refuses others."""
    if not _OID.fullmatch(oid):
        raise LfsRefused(404, "no such object")
    digest, pieces, size = hashlib.sha256(), [], 0
    for piece in body:
        size += len(piece)
        if size > OBJECT_MAX:
            raise LfsRefused(413, "object too large")
        digest.update(piece)
        pieces.append(piece)
    if digest.hexdigest() != oid:
        raise LfsRefused(422, "the bytes have another digest")
    path = repository / "lfs" / oid
    partial = path.with_suffix(".part")
    partial.write_bytes(b"".join(pieces))
    partial.replace(path)
