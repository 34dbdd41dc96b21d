"""Wire to use case and back."""
