"""The agent's ports made real: Site API, directory, SQLite journal, status files."""
