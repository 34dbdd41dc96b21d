"""What the simulated Waldur answers with: an `Answer`, or a `Refusal` raised where a rule does not hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FORBIDDEN = "You do not have permission to perform this action."


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a JSON body (`html`: a text that is a page; `empty`: none at all) and headers of its own."""

    status: int
    body: Any = None
    html: bool = False
    empty: bool = False
    headers: dict[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A 4xx: its status, its JSON body and headers of its own."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{status} {body}")
        self.answer = Answer(status, body, headers=headers or {})


def unauthenticated(detail: str) -> Refusal:
    """401."""
    return Refusal(401, {"detail": detail}, {"WWW-Authenticate": "Token"})


def invalid(name: str, *messages: str) -> Refusal:
    """400 about one field."""
    return Refusal(400, {name: list(messages)})


def invalid_whole(*messages: str) -> Refusal:
    """400 about the whole body."""
    return invalid("non_field_errors", *messages)


def forbidden() -> Refusal:
    """403: visible, no right."""
    return Refusal(403, {"detail": FORBIDDEN})


def not_found(detail: str = "Not found.") -> Refusal:
    """404: absent, or not visible to the caller."""
    return Refusal(404, {"detail": detail})


def conflict(detail: str) -> Refusal:
    """409: a wrong state, or a feature that is off."""
    return Refusal(409, {"detail": detail})


def wrong_state(*valid: str) -> Refusal:
    """409 that names the states in which the operation is one."""
    return conflict(f"Valid states for operation: {', '.join(valid)}.")


def throttled(seconds: int) -> Refusal:
    """429."""
    detail = f"Request was throttled. Expected available in {seconds} seconds."
    return Refusal(429, {"detail": detail}, {"Retry-After": str(seconds)})
