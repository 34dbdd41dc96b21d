"""UUIDs as they are written on the wire and in paths (RFC 9562 §4). Pure."""

from uuid import UUID


def dashed_uuid(text: str) -> UUID | None:
    """The UUID of a text in the dashed form, of either case; None for any other text."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text.lower() else None
