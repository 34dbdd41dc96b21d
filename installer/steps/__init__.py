"""Steps that change the host: each planned as data in ``installer.domain.plan``, done and taken back here."""
