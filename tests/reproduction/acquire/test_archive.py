import io
import stat
import tarfile
import zipfile

import pytest

from ermlab.exceptions import DataError
from reproduction.acquire.archive import unpack
from reproduction.acquire.treehash import Tree

KINDS = ["tar", "tar.gz", "tgz", "tar.bz2", "tar.xz", "zip", "whl"]


def open_tar(path, kind):
    return tarfile.open(path, {"tar": "w", "tgz": "w:gz"}.get(kind) or f"w:{kind.partition('.')[2]}")


def tar_of(path, kind, *members):
    with open_tar(path, kind) as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def archive_of(path, files, pack):
    kind = path.name.partition(".")[2]
    if kind in ("zip", "whl"):
        return pack(path, files)
    return tar_of(path, kind, *((member(f"toy/{name}"), content) for name, content in files.items()))


def only_the_archive_is_left(folder, archive):
    return [path.name for path in folder.iterdir()] == [archive.name]


@pytest.mark.parametrize("kind", KINDS)
def test_unpacks_every_kind(tmp_path, files, tree, pack, contents, kind):
    archive = archive_of(tmp_path / f"a.{kind}", files, pack)
    unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert contents(tmp_path / "out") == files


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_takes_chosen_members_to_chosen_places(tmp_path, files, tree, pack, contents, kind):
    stored = {
        "pkg/LICENSE": files["readme.txt"],
        "pkg/data/1.pgm": files["images/1.pgm"],
        "pkg/data/2.pgm": files["images/2.pgm"],
        "pkg/data/list.txt": b"not wanted",
        "other/x": b"not wanted",
    }
    archive = archive_of(tmp_path / f"a.{kind}", stored, pack)
    members = {
        "toy/pkg/LICENSE": "readme.txt",
        "toy/pkg/data/list.txt": None,
        "toy/pkg/data/": "images",
    }
    unpack(archive, tmp_path / "out", members, tree)
    assert contents(tmp_path / "out") == files


@pytest.mark.parametrize("name", ["../evil", "/evil", "toy/../../evil", "toy/images/../../../evil"])
@pytest.mark.parametrize("kind", ["tar.xz", "zip"])
def test_members_that_lead_outside_are_refused(tmp_path, tree, pack, kind, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    archive = inner / f"a.{kind}"
    if kind == "zip":
        pack(archive, {name: b"evil"}, folder="")
    else:
        tar_of(archive, kind, (member(name), b"evil"))
    with pytest.raises(DataError, match=r"member '.*evil' leads out of the folder: nothing was unpacked"):
        unpack(archive, inner / "out", {"toy/": "", "": ""}, tree)
    assert only_the_archive_is_left(inner, archive)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("type_", "word"),
    [
        (tarfile.SYMTYPE, "link"),
        (tarfile.LNKTYPE, "link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.FIFOTYPE, "device"),
    ],
)
def test_links_and_devices_in_tar_are_refused(tmp_path, files, tree, type_, word):
    archive = tar_of(
        tmp_path / "a.tar.gz",
        "tar.gz",
        (member("toy/readme.txt"), files["readme.txt"]),
        (member("toy/images", type_, "/etc"), b""),
    )
    with pytest.raises(DataError, match=rf"member 'toy/images' is a {word}: nothing was unpacked"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


def test_links_in_zip_are_refused(tmp_path, tree):
    archive = tmp_path / "a.zip"
    info = zipfile.ZipInfo("toy/images")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "w") as container:
        container.writestr(info, "/etc")
    with pytest.raises(DataError, match="member 'toy/images' is a link"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


def test_a_link_that_is_not_wanted_does_no_harm(tmp_path, files, tree, contents):
    members = [(member(f"toy/{name}"), content) for name, content in files.items()]
    archive = tar_of(tmp_path / "a.tar", "tar", (member("doc", tarfile.SYMTYPE, "/etc"), b""), *members)
    unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert contents(tmp_path / "out") == files


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_archive_is_reported(tmp_path, files, tree, pack, kind):
    files["images/2.pgm"] = bytes(10_240)
    archive = archive_of(tmp_path / f"a.{kind}", files, pack)
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) * 2 // 3 if kind == "tar" else -20])
    with pytest.raises(DataError, match=r"is damaged .*get it again|does not hold the registered data"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


@pytest.mark.parametrize("kind", KINDS)
def test_something_else_than_an_archive_is_reported(tmp_path, tree, kind):
    archive = tmp_path / f"a.{kind}"
    archive.write_bytes(b"<html>Please log in</html>" * 100)
    with pytest.raises(DataError, match=r"a\..* is damaged .*delete it and get it again"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


def test_a_flipped_bit_is_reported(tmp_path, files, tree, pack):
    archive = archive_of(tmp_path / "a.tar.xz", files, pack)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    with pytest.raises(DataError, match="is damaged"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


def test_other_content_is_reported_with_both_hashes(tmp_path, files, tree, pack):
    files["readme.txt"] = b"tow\n"
    archive = archive_of(tmp_path / "a.tar.xz", files, pack)
    with pytest.raises(DataError, match=f"does not hold the registered data: .*expected.*{tree.sha256}"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


@pytest.mark.parametrize("kind", ["tar.xz", "zip"])
def test_a_bomb_is_stopped_at_the_registered_size(tmp_path, tree, pack, kind):
    archive = archive_of(tmp_path / f"a.{kind}", {"zeros": bytes(50_000_000)}, pack)
    with pytest.raises(DataError, match=f"more than the registered 3 files and {tree.bytes} bytes"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, tree)
    assert only_the_archive_is_left(tmp_path, archive)


def test_a_member_that_comes_twice_is_refused(tmp_path, tree):
    twice = [(member("toy/x"), b"1"), (member("toy/./x"), b"2")]
    archive = tar_of(tmp_path / "a.tar", "tar", *twice)
    with pytest.raises(DataError, match=r"member 'toy/\./x' comes twice"):
        unpack(archive, tmp_path / "out", {"toy/": ""}, Tree("", 9, 9))
    assert only_the_archive_is_left(tmp_path, archive)


def test_errors_of_the_file_system_are_not_called_damage(tmp_path, files, tree, pack):
    with pytest.raises(FileNotFoundError):
        unpack(tmp_path / "absent.tar.xz", tmp_path / "out", {"toy/": ""}, tree)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_name_of_any_length_is_not_read(tmp_path, kind):
    header = member("long", kind)
    header.size = 1 << 40
    archive = tmp_path / "bomb.tar"
    archive.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(10240))
    with pytest.raises(DataError, match=r"bomb\.tar is damaged \(a name of 1099511627776 bytes\)"):
        unpack(archive, tmp_path / "toy", {"": ""}, Tree("0" * 64, 1, 1))
    only_the_archive_is_left(tmp_path, archive)
