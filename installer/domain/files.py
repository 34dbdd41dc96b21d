"""A file as a value: what stands at a path, or that nothing does."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class FileText:
    """The bytes of one small file, carried as base64 so that it comes back byte for byte."""

    content: str
    """Base64 of the bytes."""
    mode: int = 0o644

    @classmethod
    def of(cls, data: bytes, mode: int = 0o644) -> Self:
        """The value for these bytes."""
        return cls(content=base64.b64encode(data).decode("ascii"), mode=mode)

    @property
    def data(self) -> bytes:
        """The bytes. Raises ValueError for text that is no base64."""
        return base64.b64decode(self.content, validate=True)

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes."""
        return hashlib.sha256(self.data).hexdigest()
