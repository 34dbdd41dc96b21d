"""What the reporter decides, without a source in sight."""
