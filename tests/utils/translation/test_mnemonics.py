"""Labels without their mnemonics, for reading aloud."""

from __future__ import annotations

import json

import pytest

from utils.translation.files import FOLDER
from utils.translation.mnemonics import without_mnemonic


@pytest.mark.parametrize(
    ("label", "read"),
    [
        ("&Save", "Save"),
        ("Cance&l", "Cancel"),
        ("保存(&S)", "保存"),
        ("ファイル(&F)...", "ファイル..."),
        ("名前(&N):", "名前:"),
        ("名称(&N)\uff1a", "名称\uff1a"),
        ("Save (&S)", "Save"),
        ("Black && white", "Black & white"),
        ("&Black && white", "Black & white"),
        ("Automatic (1280x720)", "Automatic (1280x720)"),
        ("Nothing", "Nothing"),
        ("", ""),
    ],
)
def test_a_name_has_no_mark_of_a_key(label, read):
    assert without_mnemonic(label) == read


@pytest.mark.parametrize("language", ["ja", "zh_CN"])
def test_no_translated_label_keeps_its_key_in_parentheses(language):
    texts = {}
    for path in (FOLDER / language).glob("*.json"):
        texts.update(json.loads(path.read_text("utf-8")))
    labels = [text for text in texts.values() if isinstance(text, str) and "(&" in text]
    assert len(labels) > 50
    assert not [label for label in labels if "(" in without_mnemonic(label)]
