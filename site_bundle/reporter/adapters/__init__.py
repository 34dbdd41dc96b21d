"""The sources, the intake and the journal, as the use cases want them."""
