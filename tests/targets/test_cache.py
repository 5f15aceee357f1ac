"""The cache folder, shared by targets, threads and processes; each test has its own."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from tests.targets.programs.elementwise import silu_1d
from tileops._once import BuildOnce
from tileops.targets import TargetError, cache_dir, clear, cpu, entries

ROOT = Path(__file__).resolve().parents[2]
# What another process does with the folder named by its argument.
CHILD = """
import sys, torch
from tests.targets.programs.elementwise import silu_1d
from tileops.targets import cpu
x, y = torch.ones(1000, dtype=torch.bfloat16), torch.empty(1000, dtype=torch.bfloat16)
cpu.compile(silu_1d(1000), cache=sys.argv[1])(x, y)
assert abs(y[999].item() - 0.73) < 0.01
"""


def child(cache: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", CHILD, str(cache)]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TILELANG_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert cache_dir() == tmp_path / "tileops"
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine" / "tileops"
    assert cache_dir(tmp_path / "argument") == tmp_path / "argument"


def test_entries_are_listed_and_cleared(tmp_path: Path) -> None:
    assert entries(tmp_path) == []
    cpu.compile(silu_1d(1000), cache=tmp_path)
    (entry,) = entries(tmp_path)
    assert (entry.target, len(entry.name)) == ("cpu", 64)
    assert entry.size > 1000
    assert clear(tmp_path) == 1
    assert entries(tmp_path) == []


def test_processes_that_build_at_once_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children = [child(tmp_path) for _ in range(2)]
    for process in children:
        out, err = process.communicate()
        assert (process.returncode, out, err) == (0, "", "")
    assert len(entries(tmp_path)) == 1
    assert [p for p in (tmp_path / "cpu").iterdir() if p.name.startswith(".new-")] == []
    monkeypatch.setenv("CXX", "no-such-compiler")  # a third process has nothing to compile
    cpu.compile(silu_1d(1000), cache=tmp_path)


@pytest.mark.parametrize("damage", ["truncated library", "no library", "bad json"])
def test_a_damaged_entry_is_built_again(tmp_path: Path, damage: str) -> None:
    from tileops.targets.cpu import build

    program = silu_1d(1000)
    folder = tmp_path / "cpu" / build.key(program, False)
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text("{" if damage == "bad json" else '{"kernels": []}')
    if damage == "truncated library":
        (folder / "kernel.so").write_bytes(b"\x7fELF")
    cpu.compile(program, cache=tmp_path)
    assert (folder / "kernel.so").stat().st_size > 1000


def test_the_debug_build_is_another_entry(tmp_path: Path) -> None:
    cpu.compile(silu_1d(1000), cache=tmp_path)
    cpu.compile(silu_1d(1000), cache=tmp_path, debug=True)
    assert len(entries(tmp_path)) == 2


def test_without_a_compiler_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "CXX (no-such-compiler) is not found" in (cpu.unavailable() or "")
    with pytest.raises(TargetError, match=r"CXX \(no-such-compiler\) is not found; .*g\+\+ or clang\+\+"):
        cpu.compile(silu_1d(1000), cache=tmp_path)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no C++ compiler is found" in (cpu.unavailable() or "")


def test_compiler_with_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "env LC_ALL=C g++")
    assert cpu.unavailable() is None
    cpu.compile(silu_1d(1000), cache=tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError, match=r"cannot write to the cache folder .*file.*set TILELANG_CACHE_DIR"):
        cpu.compile(silu_1d(1000), cache=tmp_path / "file")


def test_a_build_that_fails_leaves_nothing_behind() -> None:
    once, calls = BuildOnce[str, int](), []

    def fail() -> int:
        calls.append(1)
        raise RuntimeError("no")

    for _ in range(2):
        with pytest.raises(RuntimeError):
            once.get("key", fail)
    assert once.get("key", lambda: 3) == 3
    assert len(calls) == 2


def test_threads_build_different_keys_at_the_same_time() -> None:
    import threading

    once, meet = BuildOnce[str, int](), threading.Barrier(2, timeout=10)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda key: once.get(key, meet.wait), "ab")) in ([0, 1], [1, 0])


def test_torch_sees_no_change_of_threads(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    cpu.compile(silu_1d(1000), cache=tmp_path)
    assert torch.get_num_threads() == before
