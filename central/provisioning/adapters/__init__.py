"""What the ports meet outside: PostgreSQL, the Project view."""
