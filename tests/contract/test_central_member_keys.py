"""The memory store of the contract tests obeys the suite."""

import pytest

from central.ssh_access.application.ports import MemberKeys
from tests.contract.member_keys_suite import MemberKeysSuite
from tests.contract.memory_keys import MemoryMemberKeys


class TestMemoryMemberKeys(MemberKeysSuite):
    @pytest.fixture
    def keys(self) -> MemberKeys:
        return MemoryMemberKeys()
