"""The SSH access agent: members' keys from the Site API into the directory, and back what became of each
(S7).
"""
