"""Packs of style pictures are created, used, exported and removed; bad pictures are refused."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

from app.styles.any_style_networks import SHIPPED
from app.styles.catalog import BUILTIN, Catalog
from app.styles.pack import StyleError
from models.checkpoints import CheckpointError
from models.families.any_style import AnyStyleNetwork
from models.families.family import StyleFiles
from models.families.keys import ANY_STYLE, FEED_FORWARD
from models.families.style_codes import load_code, second_path
from models.families.table import FAMILIES
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from utils.files import toml
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

FULL, LITE = SHIPPED


@pytest.fixture
def bare(tmp_path) -> Catalog:
    return Catalog(tmp_path / "builtin" / "styles", tmp_path / "user" / "styles")


@pytest.fixture
def network(tmp_path):
    return save_tiny(tmp_path / "given" / "net.safetensors")


@pytest.fixture
def painting(tmp_path):
    path = tmp_path / "blue_wave.png"
    write_pixels(path, picture(700, 500))
    return path


def test_a_picture_becomes_a_pack_of_its_own(bare, network, painting):
    style = bare.install_picture(painting, network)
    assert (style.key, style.title, style.family) == ("blue_wave", "Blue Wave", ANY_STYLE)
    assert style.thumbnail is not None
    assert style.picture is not None
    assert read_pixels(style.thumbnail).shape == (192, 192, 3)
    kept = read_pixels(style.picture)
    assert kept.shape == (366, 512, 3)
    code, shared = load_code(style.weights), AnyStyleNetwork.load(network)
    assert code.network == shared.digest
    np.testing.assert_array_equal(code.values, shared.encode(kept).values)
    again = Catalog(bare.user.parent / "none", bare.user)
    assert again.styles == (style,)


def test_the_painting_decides_how_strokes_lie(bare, network, tmp_path):
    lines = np.zeros((200, 300, 3), np.uint8)
    lines[np.arange(200) // 3 % 2 == 1] = 200
    write_pixels(tmp_path / "rows.png", lines)
    write_pixels(tmp_path / "columns.png", lines[:, :200].swapaxes(0, 1))
    write_pixels(tmp_path / "plain.png", np.full_like(lines, 90))
    directions = [
        bare.install_picture(tmp_path / f"{name}.png", network).strokes_direction
        for name in ("rows", "columns", "plain")
    ]
    assert directions == [0.0, 90.0, "none"]
    rows = bare.get("rows")
    assert rows.strokes_length == 1.0
    assert rows.texture > bare.get("plain").texture
    assert rows.stream_texture == bare.get("plain").stream_texture
    included = bare.include_picture(tmp_path / "rows.png", tmp_path / "only_here", network)
    assert included.strokes_direction == 0.0


def test_an_installed_copy_keeps_texture_and_strokes(bare, network, painting, tmp_path):
    style = bare.install_picture(painting, network)
    folder = bare.export(style.key, tmp_path)
    spec = folder / "style.toml"
    kept = [line for line in spec.read_text("utf-8").splitlines() if not line.startswith("strokes")]
    added = ["texture = 0.75", "stream_texture = 0.5"]
    added += ['strokes_direction = "swirl"', "strokes_length = 0.8"]
    added += ["stream_strokes_direction = 0"]
    spec.write_text("\n".join([*kept, *added]) + "\n", "utf-8")
    copy = bare.install(folder, "Copy")
    assert (copy.texture, copy.stream_texture) == (0.75, 0.5)
    assert (copy.strokes_direction, copy.strokes_length) == ("swirl", 0.8)
    assert copy.stream_strokes_direction == 0.0


def test_a_small_picture_is_kept_as_it_is(bare, network, tmp_path):
    write_pixels(tmp_path / "tiny.png", picture(8, 8))
    style = bare.install_picture(tmp_path / "tiny.png", network, "Dots")
    assert style.title == "Dots"
    assert style.picture is not None
    np.testing.assert_array_equal(read_pixels(style.picture), picture(8, 8))


def test_a_feed_forward_pack_names_no_family(bare):
    style = bare.install(BUILTIN / "candy")
    assert style.family == FEED_FORWARD
    assert "family" not in toml.load(style.weights.parent / "style.toml")


def test_a_given_network_is_kept_once_and_found_by_its_digest(bare, network, painting):
    digest = AnyStyleNetwork.load(network).digest
    bare.install_picture(painting, network)
    bare.install_picture(painting, network)
    network.unlink()
    later = Catalog(bare.user.parent / "none", bare.user)
    found = later.networks.find(digest)
    assert found is not None
    assert found.digest == digest
    assert len(list((bare.user.parent / "any_style").iterdir())) == 1
    assert later.networks.find("0" * 64) is None
    assert later.install_picture(painting).title == "Blue Wave 3"


def test_a_network_goes_with_the_last_style_that_needs_it(bare, network, painting, tmp_path):
    other = save_tiny(tmp_path / "other.safetensors", 2)
    first, second = (bare.install_picture(painting, network) for _ in range(2))
    third = bare.install_picture(painting, other)
    kept = bare.user.parent / "any_style"
    bare.remove(first.key)
    assert len(list(kept.iterdir())) == 2
    bare.remove(second.key)
    assert [path.stem for path in kept.iterdir()] == [AnyStyleNetwork.load(other).digest]
    bare.remove(third.key)
    assert list(kept.iterdir()) == []
    assert bare.styles == ()


def test_the_network_that_ships_is_used_and_not_copied(bare, painting, tmp_path):
    shipped = save_tiny(tmp_path / "builtin" / "any_style" / FULL)
    style = bare.install_picture(painting)
    assert load_code(style.weights).network == AnyStyleNetwork.load(shipped).digest
    bare.install_picture(painting, shutil.copy(shipped, tmp_path / "copy.safetensors"))
    assert not (bare.user.parent / "any_style").exists()


def test_a_code_finds_its_network_beside_the_one_that_ships(bare, network, painting, tmp_path):
    style = bare.install_picture(painting, network)
    save_tiny(tmp_path / "builtin" / "any_style" / FULL, 2)
    later = Catalog(tmp_path / "builtin" / "styles", bare.user)
    digest = load_code(style.weights).network
    found, default = later.networks.find(digest), later.networks.default()
    assert found is not None
    assert default is not None
    assert found.digest == digest != default.digest


@pytest.fixture
def shipped(tmp_path) -> dict[str, AnyStyleNetwork]:
    folder = tmp_path / "builtin" / "any_style"
    return {
        name: AnyStyleNetwork.load(save_tiny(folder / name, seed))
        for seed, name in enumerate(SHIPPED, 5)
    }


def test_of_the_networks_that_ship_one_is_full_and_one_is_lite(bare, shipped, painting):
    networks, digests = bare.networks, [network.digest for network in shipped.values()]
    assert networks.default() == shipped[FULL]
    style = bare.install_picture(painting)
    assert load_code(style.weights).network == shipped[FULL].digest
    for digest in digests:
        assert networks.has_lite(digest)
        assert networks.for_code(digest, lite=False) == shipped[FULL]
        assert networks.for_code(digest, lite=True) == shipped[LITE]
    assert networks.is_there(digests[1])
    assert not networks.is_there("0" * 64)
    assert not networks.has_lite("0" * 64)


@pytest.mark.parametrize("only", SHIPPED)
def test_where_one_network_ships_it_is_the_full_one(bare, shipped, painting, only):
    for name in {*SHIPPED} - {only}:
        (bare.user.parents[1] / "builtin" / "any_style" / name).unlink()
    assert bare.networks.default() == shipped[only]
    assert bare.networks.for_code("0" * 64, lite=False) == shipped[only]
    assert not bare.networks.has_lite(shipped[only].digest)


def test_a_style_gets_a_second_code_for_the_lite_network(bare, shipped, painting):
    style = bare.install_picture(painting)
    assert style.picture is not None
    second = second_path(style.weights, shipped[LITE].digest)
    assert not second.exists()
    bare.prepare(style.key)
    expected = shipped[LITE].encode(read_pixels(style.picture))
    np.testing.assert_array_equal(load_code(second).values, expected.values)
    assert load_code(style.weights).network == shipped[FULL].digest
    files = StyleFiles(style.weights, picture=style.picture)
    for lite in (False, True):
        assert FAMILIES[ANY_STYLE].load(files, bare.networks, lite=lite).remark == ""
    bare.prepare(bare.install(BUILTIN / "candy").key)


def test_a_network_that_was_given_has_no_lite_one(bare, shipped, network, painting):
    style = bare.install_picture(painting, network)
    later = Catalog(bare.user.parents[1] / "builtin" / "styles", bare.user)
    digest = load_code(style.weights).network
    found = later.networks.for_code(digest, lite=False)
    assert found is not None
    assert found.digest == digest
    assert not later.networks.has_lite(digest)
    later.prepare(style.key)
    assert len(list(style.weights.parent.glob("*.safetensors"))) == 1


def test_what_stops_the_making_of_a_style_leaves_nothing(bare, network, painting):
    said: list[str] = []

    def stop(step: str) -> None:
        said.append(step)
        if step == "Saving the style":
            raise StyleError("stopped")

    with pytest.raises(StyleError, match=r"^stopped$"):
        bare.install_picture(painting, network, progress=stop)
    assert said == [
        "Reading the network", "Reading the picture", "Finding its style", "Saving the style",
    ]  # fmt: skip
    assert bare.styles == ()
    assert not bare.user.exists()


def test_it_is_said_whether_a_style_can_be_made_of_a_picture(bare, network, painting):
    assert "none is installed" in bare.networks.unavailable_reason
    bare.install_picture(painting, network)
    later = Catalog(bare.user.parent / "none", bare.user)
    assert later.networks.unavailable_reason == ""


def test_a_damaged_network_is_named(bare, network, painting, tmp_path):
    bare.install_picture(painting, network)
    (kept,) = (bare.user.parent / "any_style").iterdir()
    data = bytearray(kept.read_bytes())
    data[-1] ^= 1
    kept.write_bytes(bytes(data))
    later = Catalog(tmp_path / "none", bare.user)
    with pytest.raises(CheckpointError, match="match its digest"):
        later.networks.find(kept.stem)
    with pytest.raises(StyleError, match="is damaged"):
        later.install_picture(painting)


def test_without_a_network_one_sentence_says_so(bare, painting):
    with pytest.raises(StyleError, match="none is installed"):
        bare.install_picture(painting)
    assert not bare.user.exists()


def test_a_file_that_is_no_network_is_named(bare, painting):
    with pytest.raises(StyleError, match=r"blue_wave\.png"):
        bare.install_picture(painting, painting)


def test_a_pack_is_handed_on_with_its_picture(bare, network, painting, tmp_path):
    style = bare.install_picture(painting, network)
    handed = shutil.copytree(style.weights.parent, tmp_path / "handed")
    elsewhere = Catalog(tmp_path / "none", tmp_path / "elsewhere" / "styles")
    again = elsewhere.install(handed)
    assert (again.title, again.family) == (style.title, ANY_STYLE)
    assert again.picture is not None
    assert style.picture is not None
    np.testing.assert_array_equal(read_pixels(again.picture), read_pixels(style.picture))
    np.testing.assert_array_equal(load_code(again.weights).values, load_code(style.weights).values)


def test_a_pack_of_a_family_that_is_not_known_is_named(bare, network, painting):
    folder = bare.install_picture(painting, network).weights.parent
    lines = toml.load(folder / "style.toml") | {"family": "diffusion"}
    (folder / "style.toml").write_text(toml.dumps(lines), "utf-8")
    bare.reload()
    assert bare.styles == ()
    (sentence,) = bare.broken
    assert "diffusion" in sentence


def test_an_included_picture_leaves_nothing_in_the_users_folder(bare, network, painting, tmp_path):
    style = bare.include_picture(painting, tmp_path / "style_image_1", network)
    assert bare.get("style_image_1") == style
    bare.reload()
    assert bare.get("style_image_1") == style
    assert not bare.user.exists()
    assert not (bare.user.parent / "any_style").exists()


def _saved(path, image, **how):
    image.save(path, **how)
    return path


@pytest.mark.parametrize(
    "make",
    [
        lambda p: _saved(p / "gray.png", Image.new("L", (90, 70), 128)),
        lambda p: _saved(p / "alpha.png", Image.new("RGBA", (90, 70), (200, 10, 10, 60))),
        lambda p: _saved(p / "palette.gif", Image.new("P", (90, 70), 3)),
        lambda p: _saved(
            p / "moving.gif",
            Image.new("RGB", (90, 70), "red"),
            save_all=True,
            append_images=[Image.new("RGB", (90, 70), "blue")],
        ),
        pytest.param(
            lambda p: _saved(p / "large.jpg", Image.new("RGB", (8000, 6000), "teal")),
            marks=pytest.mark.full,
        ),
        lambda p: _saved(p / "tiny.png", Image.new("RGB", (8, 8), "teal")),
        lambda p: _saved(p / "dot.png", Image.new("RGB", (1, 1), "teal")),
    ],
    ids=["gray", "alpha", "palette", "animated", "8000x6000", "8x8", "1x1"],
)
def test_a_picture_of_any_kind_makes_a_style(bare, network, tmp_path, make):
    style = bare.install_picture(make(tmp_path), network)
    assert bool(load_code(style.weights).values.isfinite().all())
    assert style.picture is not None
    assert max(read_pixels(style.picture).shape) <= 512


def _broken(path):
    write_pixels(path, picture())
    path.write_bytes(path.read_bytes()[:300])
    return path


def _written(path, data):
    path.write_bytes(data)
    return path


def _made(path):
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda p: _broken(p / "bad.png"), "truncated or damaged"),
        (lambda p: _written(p / "bad.png", b"hello"), "is not a picture"),
        (lambda p: _written(p / "bad.png", b""), "empty"),
        (lambda p: _made(p / "bad.png"), "folder"),
        (lambda p: p / "bad.png", "does not exist"),
        (lambda p: _saved(p / "bad.png", Image.new("RGB", (4000, 20))), "too narrow"),
    ],
    ids=["damaged", "text", "empty", "folder", "missing", "narrow"],
)
def test_a_bad_picture_is_one_sentence_and_leaves_nothing(bare, network, tmp_path, make, fault):
    with pytest.raises(StyleError, match=fault) as caught:
        bare.install_picture(make(tmp_path), network)
    assert "bad.png'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert bare.styles == ()
    assert not bare.user.exists()
