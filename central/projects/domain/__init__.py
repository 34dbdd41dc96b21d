"""Pure values and rules of the Party and Project view."""
