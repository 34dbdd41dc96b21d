"""How tests of the wire send a golden's request to an application in this process, and as whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from flask.testing import FlaskClient

from central.kernel.bearer import unauthenticated
from central.kernel.http import bearer_token

T = TypeVar("T")


def whoever(persons: Mapping[str, T]) -> Callable[[], T]:
    """The person whose bearer came with the request, by bearer; everybody else gets the 401."""

    def person() -> T:
        found = persons.get(bearer_token())
        if found is None:
            raise unauthenticated("unknown")
        return found

    return person


def send(
    client: FlaskClient, credentials: Mapping[str, str], request: Mapping[str, Any], body: bytes | None = None
) -> tuple[int, Any, Mapping[str, str]]:
    """Sends a golden's request, `credentials` in place of their names; status, decoded answer and headers."""
    path = str(request["path"])
    headers = {name: credentials.get(value, value) for name, value in request.get("headers", {}).items()}
    parts = urlsplit(path if not path.startswith("//") else "/" + path)
    answer = client.open(
        path=parts.path,
        query_string=parts.query,
        method=str(request["method"]),
        headers=headers,
        data=body,
        environ_overrides={"RAW_URI": path},
    )
    return answer.status_code, json.loads(answer.data or b"null"), dict(answer.headers)
