"""`styles` lists, adds and removes styles."""

from __future__ import annotations

from app.cli import main
from tests.helpers.errors import mentions


def test_styles_alone_lists_them(capsys):
    assert main(["styles", "list"]) == 0
    listed = capsys.readouterr().out
    assert main(["styles"]) == 0
    assert capsys.readouterr().out == listed
    assert "candy" in listed


def test_styles_are_listed_added_under_a_title_and_removed(checkpoint, capsys):
    assert main(["styles", "add", str(checkpoint), "--title", "Ink & Wash"]) == 0
    assert mentions(capsys.readouterr().out, "Ink & Wash", "ink_wash")
    main(["styles", "list"])
    assert "Ink & Wash" in capsys.readouterr().out
    assert main(["styles", "remove", "ink_wash"]) == 0
    capsys.readouterr()
    main(["styles", "list"])
    assert "Ink & Wash" not in capsys.readouterr().out


def test_what_is_no_style_is_refused_in_one_sentence(tmp_path, capsys):
    page = tmp_path / "model.pth"
    page.write_text("<html>404</html>")
    assert main(["styles", "add", str(page)]) == 1
    err = capsys.readouterr().err
    assert "model.pth" in err
    assert "not a checkpoint" in err
    assert main(["styles", "remove", "nothing_like_it"]) == 1
    assert "no style 'nothing_like_it'" in capsys.readouterr().err


def test_styles_are_exported_into_a_folder_that_is_made(tmp_path, capsys):
    folder = tmp_path / "usb" / "styles"
    assert main(["styles", "export", "candy", "--output", str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["candy.styleforge"]


def test_a_long_title_widens_no_other_row(checkpoint, capsys):
    assert main(["styles", "add", str(checkpoint), "--title", "long " * 16]) == 0
    capsys.readouterr()
    main(["styles", "list"])
    rows = [line for line in capsys.readouterr().out.splitlines() if "built in" in line]
    assert rows
    assert {row.index("built in") for row in rows} == {40 + 2 + 40 + 2}


def test_styles_are_exported_as_files_and_imported_from_them(tmp_path, capsys):
    assert main(["styles", "export", "candy", "mosaic", "--output", str(tmp_path)]) == 0
    files = [tmp_path / "candy.styleforge", tmp_path / "mosaic.styleforge"]
    assert capsys.readouterr().out == "".join(f"Wrote {file}\n" for file in files)
    assert main(["styles", "import", *map(str, files)]) == 0
    said = capsys.readouterr().out
    assert mentions(said, "Candy 2", "candy_2", "Mosaic 2", "mosaic_2")
    assert main(["styles", "import", "weights.pth"]) == 1
    assert mentions(capsys.readouterr().err, "weights.pth", ".styleforge")
