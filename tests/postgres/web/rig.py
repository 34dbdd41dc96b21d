"""The operators' page asked as a browser on this machine asks it, and what fills it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Flask
from werkzeug.test import TestResponse

from central.settings import Settings, load_settings
from tests.html import faults


@dataclass(frozen=True, slots=True)
class Overview:
    """The page, asked as a browser on this machine does."""

    app: Flask

    def get(self, path: str = "/", **headers: str) -> TestResponse:
        """An answer, whatever it is."""
        sent = {"Host": "localhost:8449", "Accept": "text/html,application/xhtml+xml;q=0.9"} | headers
        return self.app.test_client().get(path, headers=sent)

    def page(self, path: str = "/", status: int = 200) -> str:
        """A page that is well made."""
        answer = self.get(path)
        assert answer.status_code == status, answer.text
        assert faults(answer.text) == []
        return answer.text


def settings_of(url: str, **more: str) -> Settings:
    """The process's settings."""
    return load_settings({"PHAROS_DATABASE_URL": url, "PHAROS_SITES": "slurm,k8s"} | more, "overview")


def account(number: int, party: UUID, **changes: Any) -> dict[str, Any]:
    """A ready account."""
    return {
        "partyId": str(party),
        "name": f"u{number}",
        "nativeUid": f"5f1c9a30-0000-1040-8000-{number:012}/{number}",
        "uidNumber": 5_000_000 + number,
        "bindingId": str(UUID(int=0x304)),
        "generation": 1,
        "state": "ready",
    } | changes
