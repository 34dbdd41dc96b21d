"""What every component on the site stands on; it knows none of them."""
