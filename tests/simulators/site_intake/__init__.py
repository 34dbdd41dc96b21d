"""A small strict Site intake: the platform as the reporter meets it. A DEVELOPMENT STAND-IN."""
