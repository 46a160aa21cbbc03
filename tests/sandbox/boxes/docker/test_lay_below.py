"""Tests of what an image gets of Debian packages: only files where it has nothing, and nothing through a link."""

from sandbox.images.added.lay_below import lay_below


def put(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(folder.name)


def test_an_image_keeps_its_own_files_and_gets_the_others_of_the_first_server(tmp_path):
    root, packages, into = (tmp_path / name for name in ("root", "packages", "into"))
    put(root, "usr/bin/env", "usr/lib/file", "usr/share/real/x")
    (root / "usr/share/link").symlink_to("real")
    put(packages / "one", "usr/bin/env", "usr/bin/tool", "usr/lib/file/below", "usr/share/link/y")
    (packages / "one/usr/share/out").symlink_to(tmp_path)
    put(packages / "two", "usr/bin/tool", "usr/bin/second", "usr/share/out/z")
    lay_below(packages, into, root)
    laid = {
        path.relative_to(into).as_posix(): path for path in into.rglob("*") if not path.is_dir() or path.is_symlink()
    }
    assert sorted(laid) == ["usr/bin/second", "usr/bin/tool", "usr/share/out"]
    assert laid["usr/bin/tool"].read_text() == "one"
    assert not (tmp_path / "z").exists()
