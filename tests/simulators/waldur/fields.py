"""Values as they come in: UUIDs, times, decimals, choices, whole bodies. Each refusal is Django REST
framework's 400."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from tests.simulators.waldur.answers import Refusal, invalid

REQUIRED = "This field is required."
DIGITS_MAX = 20
PLACES_MAX = 2


def hex_of(text: str) -> str | None:
    """A UUID with or without dashes as 32 hex digits; None for anything else."""
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value.hex if text.lower() in (value.hex, str(value)) else None


def wanted_uuid(name: str, text: object) -> str:
    found = hex_of(text) if isinstance(text, str) else None
    if found is None:
        raise invalid(name, "Enter a valid UUID.")
    return found


def last_segment(name: str, url: object) -> str:
    """The UUID at the end of a related object's URL, whatever host it carries."""
    if not isinstance(url, str) or "/" not in url:
        raise invalid(name, "Invalid hyperlink - No URL match.")
    found = hex_of(url.rstrip("/").rpartition("/")[2])
    if found is None:
        raise invalid(name, "Invalid hyperlink - Incorrect URL match.")
    return found


def choice(name: str, text: str, choices: Collection[str]) -> str:
    if text not in choices:
        raise invalid(name, f"Select a valid choice. {text} is not one of the available choices.")
    return text


def moment(name: str, text: object) -> datetime:
    """An ISO 8601 time; one without an offset is UTC, Waldur's TIME_ZONE."""
    try:
        read = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        read = None
    if read is None:
        raise invalid(name, "Datetime has wrong format. Use one of these formats instead: "
                            "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")  # fmt: skip
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)


def day(name: str, text: object) -> date:
    try:
        return date.fromisoformat(text if isinstance(text, str) else "")
    except ValueError as error:
        raise invalid(name, "Enter a valid date.") from error


def truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise invalid(name, "Must be a valid boolean.")
    return text.lower() in ("true", "1")


def amount_errors(value: object) -> list[str]:
    """What is wrong with an amount of usage; empty when nothing is."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ["A valid number is required."]
    try:
        read = Decimal(str(value).strip())
    except InvalidOperation:
        return ["A valid number is required."]
    if not read.is_finite():
        return ["A valid number is required."]
    _, digits, exponent = read.as_tuple()
    places = max(0, -int(exponent))
    if places > PLACES_MAX:
        return [f"Ensure that there are no more than {PLACES_MAX} decimal places."]
    if max(len(digits), places) + max(0, int(exponent)) > DIGITS_MAX:
        return [f"Ensure that there are no more than {DIGITS_MAX} digits in total."]
    return []


def amount(value: object) -> Decimal:
    """An amount `amount_errors` has nothing against."""
    return Decimal(str(value).strip()).quantize(Decimal("0.01"))


def an_object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        kind = type(body).__name__
        raise Refusal(400, {"non_field_errors": [f"Invalid data. Expected a dictionary, but got {kind}."]})
    return body


def a_string(body: dict[str, Any], name: str, *, longest: int = 255, blank: bool = True) -> str:
    if name not in body:
        raise invalid(name, REQUIRED)
    value = body[name]
    if value is None:
        raise invalid(name, "This field may not be null.")
    if not isinstance(value, str):
        raise invalid(name, "Not a valid string.")
    if not value and not blank:
        raise invalid(name, "This field may not be blank.")
    if len(value) > longest:
        raise invalid(name, f"Ensure this field has no more than {longest} characters.")
    return value


def a_boolean(body: dict[str, Any], name: str) -> bool:
    if name not in body:
        raise invalid(name, REQUIRED)
    if not isinstance(body[name], bool):
        raise invalid(name, "Must be a valid boolean.")
    return bool(body[name])


def a_dictionary(body: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in body:
        raise invalid(name, REQUIRED)
    if not isinstance(body[name], dict):
        raise invalid(name, f'Expected a dictionary of items but got type "{type(body[name]).__name__}".')
    return dict(body[name])


def a_list(body: dict[str, Any], name: str) -> list[Any]:
    if name not in body:
        raise invalid(name, REQUIRED)
    if not isinstance(body[name], list):
        raise invalid(name, f'Expected a list of items but got type "{type(body[name]).__name__}".')
    return list(body[name])
