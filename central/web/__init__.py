"""The operators' page: what central knows and how fresh it is, as plain HTML that needs no script."""
