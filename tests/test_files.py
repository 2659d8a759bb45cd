"""Files of ours: whole or not at all, known again, and never in the place of what is somebody else's."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minertia.io import drafts, files, seals
from minertia.io.files import FileError, check_folder, folder_at_once, inputs_protected, left_over, reading, write_file

DRAFT = ".minertia-" + "0" * 32 + ".tmp"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones included."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def python(code: str, *args: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


def test_files_of_an_earlier_result_are_named(tmp_path: Path) -> None:
    """Files and folders that this result does not have; none of the user's own, and no other results."""
    for names in (("a.toml", "code/a.c", "urdf/1.urdf", "urdf/2.urdf"), ("a.toml", "urdf/1.urdf")):
        with folder_at_once(tmp_path) as draft:
            for name in names:
                (draft / name).parent.mkdir(exist_ok=True)
                write_file(draft / name, "# text\n" if name.endswith("toml") else "<robot/>\n")
            (tmp_path / "fmu").mkdir(exist_ok=True)
            (tmp_path / "fmu" / "mine.c").write_text("int mine;")
            found = left_over(tmp_path, draft, ("a.toml", "code", "fmu", "urdf/1.urdf"))
        with folder_at_once(tmp_path / "other") as draft:  # another result inside, which is nobody's business
            write_file(draft / "a.toml", "# text\n")
    assert found == ("code", "urdf/2.urdf")


# ---------------------------------------------------------------------- seals

KINDS = ("a.html", "a.toml", "a.urdf", "a.mjcf", "a.xml", "README.md", "Makefile", "CMakeLists.txt", "a.c", "a.h",
         "a.cpp", "a.hpp", "a.py", "a.m")  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_ours_is_known_until_it_is_changed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    write_file(path, "first\nsecond\n")
    assert path.read_text().startswith("first\nsecond\n") and len(path.read_text().splitlines()) == 3
    write_file(path, "other\n")
    assert path.read_text().startswith("other\n")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # as some tools for versions do it
    write_file(path, "more\n")
    for change in (lambda t: t.replace("more", "mine"), lambda t: t + "mine\n", lambda t: "\n" + t):
        changed = change(path.read_text())
        path.write_text(changed)
        with pytest.raises(FileError, match="did not write, or that was changed since.*--force"):
            write_file(path, "new\n")
        assert path.read_text() == changed
        write_file(path, "more\n", force=True)
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_content_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}\n")
    write_file(tmp_path / "a.json", "{}\n")
    with pytest.raises(FileError):
        write_file(tmp_path / "a.json", '{"a": 1}\n')


def test_a_motion_is_sealed_in_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_file(path, "# minertia trajectory format 1\nt,q1\n0,1\n")
    first, *rest = path.read_text().splitlines()
    assert first.startswith("# minertia trajectory format 1; ") and rest == ["t,q1", "0,1"]
    write_file(path, "# minertia trajectory format 1\nt,q1\n0,2\n")
    path.write_text(path.read_text().replace("0,2", "0,3"))
    with pytest.raises(FileError):
        write_file(path, "# minertia trajectory format 1\nt,q1\n0,1\n")


def test_an_archive_stays_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "raw", "w") as archive:
        archive.writestr("a.txt", "text")
    path = tmp_path / "a.fmu"
    for _ in range(2):
        write_file(path, (tmp_path / "raw").read_bytes())
        assert zipfile.ZipFile(path).testzip() is None and seals.is_ours(path)
    path.write_bytes(path.read_bytes().replace(b"text", b"best"))
    assert not seals.is_ours(path)


def test_a_seal_is_never_doubled() -> None:
    data = seals.sealed("a.toml", b"a = 1\n")
    assert seals.sealed("a.toml", data) == data
    more = seals.sealed("a.toml", data, {"b--*/>.json": "0" * 64})
    assert more.count(b"minertia wrote") == 1 and seals.has_seal(more)
    for name in ("a.html", "a.c"):
        comment = seals.sealed(name, b"", {"b--*/>.json": "0" * 64}).decode()
        assert re.fullmatch(r"<!-- (?:(?!--|>).)* -->\n|/\* (?:(?!\*/).)* \*/\n", comment), comment


def test_what_holds_no_byte_of_ours_is_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON and logs, also where the file system has no attributes."""
    monkeypatch.setattr(seals, "_attribute", lambda path: None)
    out = tmp_path / "out"

    def write(number: int, *names: str) -> None:
        with folder_at_once(out) as draft:
            (draft / "below").mkdir()
            for name in names:
                write_file(draft / name, f'{{"a": {number}}}\n')

    for number in range(3):
        write(number, "page.html", "a.json", "below/b.json")
    assert json.loads((out / "a.json").read_text()) == {"a": 2}
    write(3, "page.html", "a.json")  # b.json of the result before is still ours
    write(4, "page.html", "a.json", "below/b.json")
    (out / "below" / "b.json").write_text("mine")
    before = tree(out)
    with pytest.raises(FileError, match=r"below/b\.json"):
        write(5, "page.html", "a.json", "below/b.json")
    assert tree(out) == before
    (out / "below" / "b.json").write_text('{"a": 4}\n')
    (out / "page.html").write_text("mine")  # who is not trusted cannot vouch
    before = tree(out)
    with pytest.raises(FileError, match=r"a\.json"):
        write(5, "a.json")
    assert tree(out) == before


def test_attributes_know_a_file_that_holds_no_byte_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    write_file(path, "<robot/>", seal=False)
    assert path.read_text() == "<robot/>"
    if not seals.is_ours(path):
        pytest.skip("the file system has no extended attributes")
    write_file(path, "<robot name='a'/>", seal=False)
    path.write_text("mine")
    with pytest.raises(FileError):
        write_file(path, "<robot/>", seal=False)


def test_a_large_file_of_somebody_else_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # a hole of a TiB
    with pytest.raises(FileError, match="did not write"):
        write_file(path, "new")
    with pytest.raises(FileError, match="did not write"), folder_at_once(tmp_path) as draft:
        write_file(draft / "a.toml", "new")


# ---------------------------------------------------------------------- inputs


def aliases(path: Path) -> Iterator[Path]:
    """Other names of a file."""
    folder = path.parent
    yield path
    yield Path(os.path.relpath(path))
    yield folder / "." / ".." / folder.name / path.name
    (folder / "soft.toml").symlink_to(path.name)
    yield folder / "soft.toml"
    (folder / "hard.toml").hardlink_to(path)
    yield folder / "hard.toml"
    (folder.parent / f"{folder.name}-too").symlink_to(folder)
    yield folder.parent / f"{folder.name}-too" / path.name
    if (folder / path.name.upper()).exists():  # a file system that does not tell cases apart
        yield folder / path.name.upper()


def test_what_is_read_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "robot.toml"
    path.write_text("mine")
    for name in aliases(path):
        with pytest.raises(FileError, match="never overwritten, not even with --force"):
            write_file(name, "new", force=True, inputs=[path])
        with (
            pytest.raises(FileError, match="never overwritten"),
            folder_at_once(name.parent, force=True, inputs=[path]) as d,
        ):
            write_file(d / name.name, "new")
        with inputs_protected():
            reading(path)
            with pytest.raises(FileError, match="never overwritten"):
                check_folder(name.parent, [name.name], force=True)
            with pytest.raises(FileError, match="never overwritten"):
                write_file(name, "mine", force=True)
    assert path.read_text() == "mine"
    write_file(path, "new", force=True)  # reading counts within a command only


def test_an_editor_that_saves_meanwhile_does_not_open_the_door(tmp_path: Path) -> None:
    path = tmp_path / "robot.toml"
    path.write_text("mine")
    with inputs_protected():
        reading(path)
        (tmp_path / "saved").write_text("mine, edited")
        os.replace(tmp_path / "saved", path)
        with pytest.raises(FileError, match="never overwritten"):
            write_file(path, "new", force=True)


# ---------------------------------------------------------------------- whole or not at all


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """What a full disk does: a file cannot grow beyond this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_does_not_fit_leaves_all_as_it_was(tmp_path: Path) -> None:
    write_file(tmp_path / "a.html", "old")
    before = tree(tmp_path)
    with largest_file(100):
        with pytest.raises(FileError, match=r"a\.html: the file cannot be written \(File too large\)"):
            write_file(tmp_path / "a.html", "x" * 1000)
        for folder in (tmp_path, tmp_path / "new" / "deep"):
            with (
                pytest.raises(FileError, match=rf"{folder}/b\.html: the file cannot be written"),
                folder_at_once(folder) as d,
            ):
                write_file(d / "a.json", "{}")
                write_file(d / "b.html", "x" * 1000)
    assert tree(tmp_path) == before and not (tmp_path / "new").exists()


def test_a_folder_in_the_way_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "b.html").mkdir()
    with pytest.raises(FileError, match=r"b\.html: a folder"), folder_at_once(tmp_path) as draft:
        write_file(draft / "a.html", "new")
        write_file(draft / "b.html", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["b.html"]
    os.mkfifo(tmp_path / "pipe.html")
    with pytest.raises(FileError, match="a folder or a special file"), folder_at_once(tmp_path) as draft:
        write_file(draft / "pipe.html", "new")


def test_pipes_and_devices_are_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    write_file(pipe, b"through")
    assert reader.communicate(timeout=30)[0] == b"through" and pipe.is_fifo()
    write_file("/dev/null", b"away")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("fails_at", range(1, 4))
def test_files_are_put_in_place_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int) -> None:
    """If the second of three cannot be moved, the first is taken back."""

    def write() -> None:
        with folder_at_once(tmp_path) as draft:
            (draft / "below").mkdir()
            for name in ("a.html", "below/b.html", "c.html"):
                write_file(draft / name, f"new {name}")
            moves.clear()

    moves: list[int] = []
    with folder_at_once(tmp_path) as draft:
        write_file(draft / "a.html", "old")
    before, replace = tree(tmp_path), os.replace

    def broken(*args: object, **options: object) -> None:
        moves.append(1)
        if len(moves) == fails_at:
            raise OSError("the disk is gone")
        replace(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(FileError, match="the disk is gone"):
        write()
    assert tree(tmp_path) == before and not (tmp_path / "below").exists()
    monkeypatch.setattr(os, "replace", replace)
    write()
    assert sorted(tree(tmp_path)) == ["a.html", "below/b.html", "c.html"]


def test_an_interrupt_waits_until_all_files_are_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def interrupted(*args: object) -> None:
        signal.raise_signal(signal.SIGINT)
        replace(*args)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt), folder_at_once(tmp_path) as draft:
        for name in ("a.html", "b.html"):
            write_file(draft / name, "new")
        monkeypatch.setattr(os, "replace", interrupted)
    assert sorted(tree(tmp_path)) == ["a.html", "b.html"]


# ---------------------------------------------------------------------- killed

KILLED = """
    import os, signal, sys
    from pathlib import Path
    from minertia.io.files import folder_at_once, write_file
    folder, step, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    def dies(name):
        def run(*args, **options):
            global left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)
        real = getattr(os, name)
        setattr(os, name, run)
    for name in ("replace", "rename", "mkdir", "fsync", "link"):
        dies(name)
    if step == "folder":
        with folder_at_once(folder) as draft:
            for name in ("a.html", "b.html"):
                write_file(draft / name, "new" * 1000)
    else:
        write_file(folder / "a.html", "new" * 1000)
    """


@pytest.mark.parametrize("step", ["file", "folder", "beside a folder", "new folder"])
def test_killed_at_any_moment(tmp_path: Path, step: str) -> None:
    """Every file is whole, and those of a folder are all old or all new; the next run clears the draft away."""
    out, killed = tmp_path / "out", 0
    for moment in range(1, 40):
        if step != "new folder":
            with folder_at_once(out) as draft:
                for name in ("a.html", "b.html"):
                    write_file(draft / name, "old" * 1000)
        if step == "beside a folder":
            (out / "mine").mkdir(exist_ok=True)
        done = python(KILLED, out, step.split()[-1], moment)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        if out.exists():
            found = {name: data for name, data in tree(out).items() if not name.startswith(".minertia-")}
            versions = {data[:3] for data in found.values()}
            assert set(found) <= {"a.html", "b.html"} and all(map(seals.has_seal, found.values()))
            assert len(versions) <= 1 or step == "file", "files of two results stand side by side"
            if step != "beside a folder":  # which stays what it is, so that files go one by one
                assert len(found) == 2 and versions <= ({b"new"} if step == "new folder" else {b"old", b"new"})
        if not done.returncode:
            break
        killed += 1
        with folder_at_once(out) as draft:
            write_file(draft / "a.html", "next")
        assert not [p for p in tmp_path.rglob(".minertia-*")]
        shutil.rmtree(out)
    assert done.returncode == 0 and killed >= 2


def test_a_draft_in_work_is_left_alone(tmp_path: Path) -> None:
    """Also that of another process; what only looks like one, too."""
    (tmp_path / ".minertia-notes.tmp").write_text("mine")
    with drafts.draft_folder(tmp_path) as own, open(tmp_path / DRAFT, "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = python("import sys; from minertia.io.files import write_file; write_file(sys.argv[1], 'new')",
                      tmp_path / "a.html")  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([".minertia-notes.tmp", DRAFT, own.name, "a.html"])
    write_file(tmp_path / "a.html", "newer")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".minertia-notes.tmp", "a.html"]


def test_a_draft_that_is_taken_for_abandoned_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may clear it away between its making and its lock."""
    locked, calls = drafts._locked, []

    def late(draft: Path) -> int | None:
        calls.append(draft)
        if len(calls) == 1:
            drafts._remove_if_abandoned(draft)
        return locked(draft)

    monkeypatch.setattr(drafts, "_locked", late)
    write_file(tmp_path / "a.html", "new")
    assert len(calls) == 2 and [p.name for p in tmp_path.iterdir()] == ["a.html"]


# ---------------------------------------------------------------------- other file systems

MOUNTS = ("unshare", "--mount", "--map-root-user", "--propagation", "private")


@pytest.fixture
def mounted() -> None:
    """Skip where a process cannot have mounts of its own."""
    if subprocess.run(["sh", "-c", f"{' '.join(MOUNTS)} true"], capture_output=True).returncode:
        pytest.skip("mounts are not allowed here")


def in_own_mounts(script: str, folder: Path) -> None:
    """A script with the mounts it makes; they are gone when it ends."""
    code = "set -e\ncd " + str(folder) + "\n" + textwrap.dedent(script).replace("PYTHON", sys.executable)
    done = subprocess.run([*MOUNTS, "sh", "-c", code], capture_output=True, text=True, timeout=120)
    if "mount:" in done.stderr:
        pytest.skip(f"mounts are not allowed here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr + done.stdout


WRITE = """
import sys
from pathlib import Path
from minertia.io.files import FileError, folder_at_once, write_file
content, file, *folders = sys.argv[1:]
for folder in folders:
    with folder_at_once(folder) as draft:
        for name in ("a.html", "b.json"):
            write_file(draft / name, content)
write_file(file, content)
"""


@pytest.mark.usefixtures("mounted")
def test_mount_points_and_links_to_other_file_systems(tmp_path: Path) -> None:
    """As --out: a mount point, a link to one, a folder in it, one that has a link to it in the place of a file."""
    (tmp_path / "write.py").write_text(WRITE)
    in_own_mounts(
        """
        mkdir disk own && mount -t tmpfs -o size=1m tmpfs disk
        ln -s disk link && mkdir disk/far && ln -s ../disk/far/a.html own/a.html && ln -s disk/page.html page.html
        for content in '"old"' '"new"'; do
            PYTHON write.py "$content" page.html disk link link/deep/er own
        done
        grep -q new disk/a.html disk/b.json disk/deep/er/a.html disk/far/a.html disk/page.html own/b.json
        test -L own/a.html -a -L page.html
        test -z "$(find . -name '.minertia-*')"
        """,
        tmp_path,
    )


@pytest.mark.usefixtures("mounted")
def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "write.py").write_text(WRITE)
    in_own_mounts(
        """
        mkdir disk && mount -t tmpfs -o size=64k tmpfs disk
        PYTHON write.py '"old"' disk/page.html disk disk/deep
        long=$(head -c 40000 /dev/zero | tr '\\0' x)
        for out in disk disk/deep disk/new; do
            if PYTHON write.py "$long" disk/page.html $out 2> said; then exit 1; fi
            grep -q "FileError: $out/b.json: the file cannot be written (No space left on device)" said
        done
        test ! -e disk/new
        grep -q old disk/page.html disk/a.html disk/b.json disk/deep/a.html disk/deep/b.json
        test -z "$(find . -name '.minertia-*')"
        """,
        tmp_path,
    )


@pytest.mark.usefixtures("mounted")
def test_a_writable_folder_in_a_read_only_file_system(tmp_path: Path) -> None:
    (tmp_path / "write.py").write_text(WRITE)
    in_own_mounts(
        """
        mkdir -p disk/own && mount -t tmpfs tmpfs disk && mkdir disk/own && mount -t tmpfs tmpfs disk/own
        mount -o remount,ro disk
        PYTHON write.py '"old"' disk/own/page.html disk/own disk/own/deep
        PYTHON write.py '"new"' disk/own/page.html disk/own disk/own/deep
        grep -q new disk/own/a.html disk/own/deep/a.html disk/own/page.html
        if PYTHON write.py '"new"' disk/own/page.html disk/not 2> said; then exit 1; fi
        grep -q "FileError: disk/not: the folder cannot be created (Read-only file system)" said
        """,
        tmp_path,
    )


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions do not bind root, so a test as root goes on as somebody else."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_writable_folder_in_one_that_is_not(tmp_path: Path) -> None:
    closed, own = tmp_path / "closed", tmp_path / "closed" / "own"
    own.mkdir(parents=True)
    own.chmod(0o777)
    closed.chmod(0o555)
    passages = [p for p in tmp_path.parents if p.stat().st_uid == os.geteuid() and not p.stat().st_mode & 0o005]
    modes = {path: path.stat().st_mode for path in (tmp_path, *passages)}
    for path in modes:
        path.chmod(0o755)
    try:
        with as_nobody():
            for content in ("old", "new"):
                with folder_at_once(own) as draft:
                    write_file(draft / "a.html", content)
                write_file(own / "b.html", content)
            for name in (closed, closed / "deeper"):
                with pytest.raises(FileError, match="Permission denied|files cannot be created"):
                    check_folder(name, ["a.html"])
                with pytest.raises(FileError, match="Permission denied"), folder_at_once(name):
                    pass
        assert sorted(tree(closed)) == ["own/a.html", "own/b.html"] and b"new" in (own / "a.html").read_bytes()
    finally:
        closed.chmod(0o755)
        for path, mode in modes.items():
            path.chmod(mode)


def test_permissions_of_new_and_of_replaced_files(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        with folder_at_once(tmp_path / "out" / "deep") as draft:
            write_file(draft / "a.html", "new")
    finally:
        os.umask(mask)
    file = tmp_path / "out" / "deep" / "a.html"
    assert [p.stat().st_mode & 0o777 for p in (tmp_path / "out", file.parent, file)] == [0o750, 0o750, 0o640]
    file.chmod(0o604)
    with folder_at_once(tmp_path / "out" / "deep") as draft:
        write_file(draft / "a.html", "newer")
    assert file.stat().st_mode & 0o777 == 0o604 and b"newer" in file.read_bytes()


def test_names_that_nothing_can_have(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for name in (f"{tmp_path}/a\0b", tmp_path / ("x" * 300), tmp_path / "file", tmp_path / "file" / "below"):
        for attempt in (lambda n: check_folder(n, ["a"]), lambda n: folder_at_once(n).__enter__()):
            with pytest.raises(FileError) as caught:
                attempt(name)
            assert "\n" not in str(caught.value) and "\0" not in str(caught.value)
    assert tree(tmp_path) == {"file": b"mine"}


def test_an_error_of_somebody_else_is_not_called_ours(tmp_path: Path) -> None:
    for error in (OSError("a log"), ValueError("a number"), KeyboardInterrupt("c"), FileError("other.csv", "is odd")):
        with pytest.raises(type(error), match=str(error)), folder_at_once(tmp_path / "new"):
            raise error
    assert not list(tmp_path.iterdir())


def test_nothing_is_read_outside_a_command() -> None:
    reading("anything")
    assert not files._commands
