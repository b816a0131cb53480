"""A session with the bundled styles on the real engine."""

from __future__ import annotations

import pytest

from app.live.session import Session
from tests.helpers.sessions import end


@pytest.fixture
def session(qtbot, library, config, native_kernels):
    session = Session(library, config)
    yield session
    end(session)
