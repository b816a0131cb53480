"""A session with the bundled styles on the real engine."""

from __future__ import annotations

import pytest

from app.live.session import Session
from tests.helpers.sessions import end


@pytest.fixture
def session(qtbot, catalog, config, native_kernels):
    session = Session(catalog, config)
    yield session
    end(session)
