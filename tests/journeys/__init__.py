"""The whole road, walked as its users walk it: administrators at a keyboard, members over HTTP and ssh."""
