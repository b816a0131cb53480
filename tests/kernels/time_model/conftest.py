from __future__ import annotations

from typing import Any

import pytest

from tests.kernels.driver import stubs


@pytest.fixture(scope="session")
def description(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return stubs.description("network", tmp_path_factory.mktemp("abi"))
