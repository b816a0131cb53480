"""Folder names that Windows reserves for devices."""

from __future__ import annotations

import pytest

from app.styles.library import Library


@pytest.mark.parametrize("title", ["CON", "nul", "Com1", "LPT9. ", "aux."])
def test_no_title_makes_the_folder_of_a_device(title: str, library: Library):
    library._user.mkdir(parents=True, exist_ok=True)
    assert library._free_key(title).startswith("style_")
