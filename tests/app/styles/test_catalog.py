"""Style packs are validated strictly, installed whole and removed only by their owner."""

from __future__ import annotations

import hashlib
import os
import shutil

import pytest
import torch

from app.styles.catalog import BUILTIN, Catalog
from app.styles.pack import DEFAULT_TEXTURES, StyleError, load_pack
from models.checkpoints import load_checkpoint
from models.network_config import FULL, NetworkConfig, network_config
from models.transformer_net import TransformerNetBaseline
from tests.conftest import add_style
from tests.helpers.errors import refused
from utils.files import toml


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (None, "no style.toml"),
        ("title = ", "not valid"),
        ('title = "Candy"', "not valid: 'weights' is missing"),
        ('title = "Candy"\nweights = ""', "not valid: 'weights' is empty"),
        ('title = 7\nweights = "w.safetensors"', "'title' should be text, not 7"),
        ('title = "Candy"\nweights = "w.safetensors"', "missing: w.safetensors"),
        (
            'title = "Candy"\nweights = "style.toml"\nlite_weights = "l.safetensors"',
            "missing: l.safetensors",
        ),
        (
            'title = "Candy"\nweights = "style.toml"\nlite_weights = "../l"',
            "outside its own folder: ../l",
        ),
        (
            'title = "C"\nweights = "w"\ntexture = 2',
            "'texture' should be a number from 0 to 1, not 2",
        ),
        (
            'title = "C"\nweights = "w"\nstream_texture = "much"',
            "'stream_texture' should be a number from 0 to 1, not 'much'",
        ),
        (
            'title = "C"\nweights = "w"\nstrokes_direction = 180',
            "'strokes_direction' should be one of none, follow, swirl or an angle",
        ),
        (
            'title = "C"\nweights = "w"\nstrokes_direction = "hand"',
            "'strokes_direction' should be one of none, follow, swirl or an angle",
        ),
        ('title = "C"\nweights = "w"\nstrokes_direction = true', "not True"),
        (
            'title = "C"\nweights = "w"\nstrokes_direction = "auto"',
            "'strokes_direction' should be one of none, follow, swirl or an angle",
        ),
        (
            'title = "C"\nweights = "w"\nstrokes_length = 2',
            "'strokes_length' should be a number from 0 to 1, not 2",
        ),
        ('title = "C"\nweights = "w"\ntexture = true', "'texture' should be a number"),
        (
            'title = "C"\nweights = "w"\ntexture = nan',
            "it has a number that is not finite or too large",
        ),
    ],
)
def test_a_broken_pack_says_what_is_wrong(tmp_path, spec, complaint):
    pack = tmp_path / "candy"
    pack.mkdir()
    if spec is not None:
        (pack / "style.toml").write_text(spec)
    with pytest.raises(StyleError, match=complaint) as failure:
        load_pack(pack)
    assert "'candy" in str(failure.value)


def test_a_pack_names_its_texture_or_gets_the_default(tmp_path):
    pack = tmp_path / "candy"
    pack.mkdir()
    spec = 'title = "Candy"\nweights = "style.toml"\n'
    for family, expected in DEFAULT_TEXTURES.items():
        (pack / "style.toml").write_text(f'{spec}family = "{family}"\n')
        style = load_pack(pack)
        assert (style.texture, style.stream_texture) == expected
    (pack / "style.toml").write_text(f"{spec}texture = 1\nstream_texture = 0.25\n")
    style = load_pack(pack)
    assert (style.texture, style.stream_texture) == (1.0, 0.25)


def test_a_pack_names_the_direction_of_its_strokes_or_leaves_them_as_they_are(tmp_path):
    (pack := tmp_path / "pack").mkdir()
    (pack / "w").touch()
    spec = 'title = "C"\nweights = "w"\n'
    for added, expected in (
        ("", ("none", 0.5)),
        ('strokes_direction = "follow"\nstrokes_length = 1', ("follow", 1.0)),
        ("strokes_direction = 30", (30.0, 0.5)),
        ('strokes_direction = 30\nstream_strokes_direction = "none"', (30.0, 0.5)),
    ):
        (pack / "style.toml").write_text(spec + added)
        style = load_pack(pack)
        assert (style.strokes_direction, style.strokes_length) == expected
        streamed = "none" if "stream" in added else expected[0]
        assert style.stream_strokes_direction == streamed


def test_every_shipped_style_is_whole():
    catalog = Catalog(BUILTIN, BUILTIN / "none")
    assert catalog.styles
    assert not catalog.broken
    for style in catalog.styles:
        assert style.builtin
        assert style.credit
        assert style.licence
        assert style.thumbnail is not None
        assert hashlib.sha256(style.weights.read_bytes()).hexdigest() == style.sha256
        TransformerNetBaseline().load_state_dict(load_checkpoint(style.weights))
        if style.lite:
            assert hashlib.sha256(style.lite.read_bytes()).hexdigest() == style.lite_sha256
            shape = network_config(load_checkpoint(style.lite))
            assert shape.multiply_adds(640, 480) <= FULL.multiply_adds(640, 480) / 6


def test_candy_comes_first(catalog):
    assert catalog.styles[0].key == "candy"


def test_an_unknown_style_suggests_near_names(catalog):
    with pytest.raises(StyleError, match="did you mean candy"):
        catalog.get("cundy")


def test_a_published_checkpoint_is_installed_as_a_pack(catalog, tmp_path):
    path = tmp_path / "My painting.pth"
    state = TransformerNetBaseline(3).state_dict()
    torch.save({"state_dict": {f"module.{k}": v for k, v in state.items()}}, path)
    style = catalog.install(path, "Our Kitchen")
    assert (style.key, style.title, style.builtin) == ("our_kitchen", "Our Kitchen", False)
    assert catalog.get("our_kitchen") == style
    torch.testing.assert_close(
        load_checkpoint(style.weights)["conv1.conv2d.weight"],
        state["conv1.conv2d.weight"],
        atol=1e-3,
        rtol=1e-2,
    )


LITE = NetworkConfig(1, (4, 4, 6), 3)


def test_a_lite_network_comes_with_its_pack(catalog, tmp_path):
    add_style(tmp_path / "theirs", "sketch", 1, LITE, lite=LITE)
    style = catalog.install(tmp_path / "theirs" / "styles" / "sketch")
    assert style.lite is not None
    assert style.lite.parent == style.weights.parent
    assert hashlib.sha256(style.lite.read_bytes()).hexdigest() == style.lite_sha256
    assert network_config(load_checkpoint(style.lite)) == LITE


def test_a_lite_network_that_is_another_file_is_not_installed(catalog, tmp_path):
    add_style(tmp_path / "theirs", "sketch", 1, LITE, lite=LITE)
    pack = tmp_path / "theirs" / "styles" / "sketch"
    shutil.copy(pack / "weights.safetensors", pack / "lite.safetensors")
    with refused(StyleError, "sha256", file="lite.safetensors", style="Sketch"):
        catalog.install(pack)
    assert [style.key for style in catalog.styles if not style.builtin] == []


def test_a_second_style_of_one_title_gets_another_title_and_key(catalog, tmp_path):
    path = tmp_path / "a.pth"
    torch.save(TransformerNetBaseline(1).state_dict(), path)
    title = 'Quotes "and" \\slashes \N{ARTIST PALETTE}'
    first, second = (catalog.install(path, title) for _ in range(2))
    assert (first.key, second.key) == ("quotes_and_slashes", "quotes_and_slashes_2")
    assert (first.title, second.title) == (title, f"{title} 2")
    assert catalog.installable_title(path) == "A"


def test_a_trained_style_of_a_title_that_is_taken_gets_another(catalog, tmp_path):
    pack = tmp_path / "run"
    shutil.copytree(BUILTIN / "candy", pack)
    lines = toml.load(pack / "style.toml")
    style = catalog.move_in(pack)
    assert (style.key, style.title) == ("candy_2", "Candy 2")
    assert not pack.exists()
    assert toml.load(style.weights.parent / "style.toml") == lines | {"title": "Candy 2"}


def test_a_file_that_is_no_checkpoint_leaves_nothing_behind(catalog, tmp_path):
    path = tmp_path / "style.pth"
    path.write_text("<!DOCTYPE html><html>404</html>")
    before = catalog.styles
    with pytest.raises(StyleError, match=r"style\.pth.*web page"):
        catalog.install(path)
    assert catalog.styles == before
    assert not any((tmp_path / "styles").glob("*"))


def test_a_full_disk_leaves_nothing_behind(catalog, tmp_path, monkeypatch):
    path = tmp_path / "a.pth"
    torch.save(TransformerNetBaseline(1).state_dict(), path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("models.families.feed_forward.save_checkpoint", full)
    with pytest.raises(StyleError, match="No space left"):
        catalog.install(path)
    assert not any((tmp_path / "styles").iterdir())


def test_what_a_killed_installation_left_is_removed_by_the_next(catalog, tmp_path):
    left, underway = (tmp_path / "styles" / f".installing-{n}" for n in ("left", "underway"))
    for folder in (left, underway):
        folder.mkdir(parents=True)
        (folder / "weights.safetensors").write_bytes(b"half")
    os.utime(left, (0, 0))
    catalog.install(catalog.get("candy").weights, "Another")
    assert not left.exists()
    assert underway.exists()  # perhaps by another program


def test_a_pack_folder_is_installed_with_its_thumbnail(catalog, tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(BUILTIN / "candy", copy)
    style = catalog.install(copy, "Sweet")
    assert style.thumbnail is not None
    assert style.credit == catalog.get("candy").credit


def test_only_the_users_own_styles_can_be_removed(catalog, tmp_path):
    path = tmp_path / "a.pth"
    torch.save(TransformerNetBaseline(1).state_dict(), path)
    key = catalog.install(path, "Mine").key
    catalog.remove(key)
    assert key not in {style.key for style in catalog.styles}
    with pytest.raises(StyleError, match="built in"):
        catalog.remove("candy")


def test_a_broken_pack_is_named_and_the_others_stay(tmp_path):
    (tmp_path / "styles" / "empty").mkdir(parents=True)
    catalog = Catalog(BUILTIN, tmp_path / "styles")
    assert catalog.broken == ("'empty' has no style.toml",)
    assert catalog.get("candy")


def test_a_users_pack_never_hides_a_built_in_one(tmp_path):
    shutil.copytree(BUILTIN / "candy", tmp_path / "styles" / "candy")
    catalog = Catalog(BUILTIN, tmp_path / "styles")
    assert catalog.get("candy").builtin
    assert "built-in" in catalog.broken[0]


def test_a_very_long_title_makes_a_short_folder(catalog, tmp_path):
    path = tmp_path / "long.pth"
    torch.save(TransformerNetBaseline(1).state_dict(), path)
    first = catalog.install(path, "Wave " * 60)
    second = catalog.install(path, "Wave " * 60)
    assert first.title == ("Wave " * 60).strip()
    assert second.title.endswith("Wave Wa 2")
    assert first.key != second.key
    assert max(len(first.key), len(second.key)) < 80


@pytest.mark.parametrize("field", ["weights", "thumbnail"])
@pytest.mark.parametrize("place", ["../secret.bin", "{}/secret.bin", "inside/../../secret.bin"])
def test_a_pack_names_no_file_outside_its_folder(catalog, tmp_path, field, place):
    (tmp_path / "secret.bin").write_bytes(b"a secret")
    pack = tmp_path / "pack"
    shutil.copytree(BUILTIN / "candy", pack)
    names = {"weights": "weights.safetensors", "thumbnail": "thumbnail.png"}
    names[field] = place.format(tmp_path.as_posix())
    (pack / "style.toml").write_text(toml.dumps({"title": "Thief", **names}))
    with refused(StyleError, "outside", pack="pack"):
        catalog.install(pack)
    assert not (tmp_path / "styles").exists()


def test_a_thumbnail_that_is_no_picture_is_not_copied(catalog, tmp_path):
    pack = tmp_path / "pack"
    shutil.copytree(BUILTIN / "candy", pack)
    (pack / "thumbnail.png").write_text("root:x:0:0")
    with pytest.raises(StyleError, match=r"thumbnail\.png.*a text file"):
        catalog.install(pack)


def test_a_pack_whose_weights_were_changed_is_not_installed(catalog, tmp_path):
    pack = tmp_path / "pack"
    shutil.copytree(BUILTIN / "candy", pack)
    content = bytearray((pack / "weights.safetensors").read_bytes())
    content[-1] ^= 1
    (pack / "weights.safetensors").write_bytes(content)
    with pytest.raises(StyleError, match="the sha256 differs"):
        catalog.install(pack)


def test_a_pack_that_nests_without_end_is_one_sentence(tmp_path):
    pack = tmp_path / "deep"
    pack.mkdir()
    (pack / "style.toml").write_text("x = " + "[" * 50_000)
    with pytest.raises(StyleError, match=r"'deep/style\.toml' is not valid"):
        load_pack(pack)


def test_a_title_cannot_write_over_the_terminal(catalog, tmp_path):
    path = tmp_path / "a.pth"
    torch.save(TransformerNetBaseline(1).state_dict(), path)
    assert catalog.install(path, "\x1b[2JInk\n& Wash").title == "[2JInk & Wash"
    pack = tmp_path / "pack"
    shutil.copytree(BUILTIN / "candy", pack)
    spec = {"title": "a\nb\x1b[31m", "weights": "weights.safetensors", "credit": "c\rd"}
    (pack / "style.toml").write_text(toml.dumps(spec))
    assert (load_pack(pack).title, load_pack(pack).credit) == ("a b [31m", "c d")


def test_a_users_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "wall").write_text("a file where a folder should be")
    catalog = Catalog(BUILTIN, tmp_path / "wall" / "styles")
    with refused(StyleError, style="Candy 2"):
        catalog.install(BUILTIN / "candy")


def test_a_renamed_style_keeps_its_key_and_every_other_line(catalog, tmp_path):
    style = catalog.install(BUILTIN / "candy", "Mine")
    spec = style.weights.parent / "style.toml"
    spec.write_text("# by hand\n" + spec.read_text("utf-8"), "utf-8")
    before = toml.load(spec)
    renamed = catalog.rename(style.key, '  Yours "\\" \n')
    assert (renamed.key, renamed.title) == (style.key, 'Yours "\\"')
    assert spec.read_text("utf-8").startswith("# by hand\n")
    assert toml.load(spec) == before | {"title": 'Yours "\\"'}
    assert [path.name for path in spec.parent.iterdir() if path.name.startswith(".")] == []
    assert catalog.rename(style.key, "yours").title == "yours"


@pytest.mark.parametrize(
    ("title", "fault"),
    [("  ", "needs a title"), ("MOSAIC", "another style is already named 'MOSAIC'")],
)
def test_a_title_that_cannot_be_is_refused(catalog, title, fault):
    style = catalog.install(BUILTIN / "candy", "Mine")
    with pytest.raises(StyleError, match=fault):
        catalog.rename(style.key, title)
    assert catalog.get(style.key).title == "Mine"


def test_only_the_users_own_styles_can_be_renamed(catalog):
    with refused(StyleError, "built in", style="Candy"):
        catalog.rename("candy", "Sugar")


def test_a_title_over_several_lines_is_not_torn(catalog):
    style = catalog.install(BUILTIN / "candy", "Mine")
    spec = style.weights.parent / "style.toml"
    text = spec.read_text("utf-8").replace('title = "Mine"', 'title = """\nMine\n"""')
    spec.write_text(text, "utf-8")
    catalog.reload()
    with pytest.raises(StyleError, match="only the title"):
        catalog.rename(style.key, "Other")
    assert spec.read_text("utf-8") == text


def test_an_exported_pack_is_whole_and_replaces_nothing(catalog, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    copy = catalog.export("candy", folder)
    assert load_pack(copy).title == "Candy"
    original = catalog.get("candy").weights.parent
    for file in original.iterdir():
        assert (copy / file.name).read_bytes() == file.read_bytes()
    with pytest.raises(StyleError, match="contains 'candy'"):
        catalog.export("candy", folder)
    with refused(StyleError, style="Candy", error="No such file or directory"):
        catalog.export("candy", tmp_path / "nowhere")
    assert [path.name for path in folder.iterdir()] == ["candy"]
