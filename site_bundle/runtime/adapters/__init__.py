"""The outside as the use cases see it; foreign errors are mapped here."""
