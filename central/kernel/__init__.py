"""What every context of central stands on; it knows none of them."""
