"""Every statement of the journal."""
