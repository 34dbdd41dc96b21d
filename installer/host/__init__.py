"""The host's side of the installer: files, links, systemd, directory, Site API. Foreign errors are mapped
here.
"""
