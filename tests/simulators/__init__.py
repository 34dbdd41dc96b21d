"""Development stand-ins that obey the real rules; processes, never imported by the product (X8)."""
