"""The fixtures of the commands, since `stylize` starts most runs of these tests."""

from __future__ import annotations

from tests.app.commands.conftest import added_style as added_style
from tests.app.commands.conftest import photo as photo
from tests.app.commands.conftest import style as style
from tests.app.commands.conftest import thrifty as thrifty
