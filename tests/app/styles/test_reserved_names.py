"""Folder names that Windows reserves for devices."""

from __future__ import annotations

import pytest

from app.styles.catalog import Catalog


@pytest.mark.parametrize("title", ["CON", "nul", "Com1", "LPT9. ", "aux."])
def test_no_title_makes_the_folder_of_a_device(title: str, catalog: Catalog):
    catalog._user.mkdir(parents=True, exist_ok=True)
    assert catalog._free_key(title).startswith("style_")
