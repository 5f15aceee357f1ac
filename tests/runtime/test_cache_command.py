"""`python -m tileops.cache`: what it prints, what it does, how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileops import cache, runner, targets
from tileops._once import BuildOnce
from tileops.spec import load


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder, and a process that has built nothing."""
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(runner, "_entries", BuildOnce())
    return targets.cache_dir()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def go(*arguments: str) -> tuple[int, str]:
        code = cache.main(arguments)
        return code, capsys.readouterr().out

    return go


def test_an_empty_folder(run, folder: Path) -> None:
    assert run("show") == (0, f"0 programs, 0 B, in {folder}\n")
    assert run("clear") == (0, f"deleted 0 programs, 0 B, from {folder}\n")


def test_build_show_clear(run, folder: Path) -> None:
    workloads = load("RMSNormFwdOp").workloads
    count = len({(str(w["normalized_shape"]), dtype) for w in workloads for dtype in w["dtypes"]})
    code, out = run("build", "--op", "RMSNormFwdOp", "--target", "cpu", "--workloads", "--jobs", "2")
    assert code == 0
    built = sorted(out.splitlines(), key=lambda line: ("=float16, y" not in line, "=4096" not in line))
    assert len(built) == count  # batch sizes share a kernel
    assert built[0].startswith(
        "ready  RMSNormFwdOp[rows, cpu](x=float16, weight=float16, y=float16, N=4096)  "
    )

    code, out = run("show")
    assert code == 0
    assert all(line.startswith("cpu ") for line in out.splitlines()[:count])
    assert out.splitlines()[-1].startswith(f"{count} programs, ")
    assert out.splitlines()[-1].endswith(f" in {folder}")

    code, out = run("clear")
    assert code == 0
    assert out.startswith(f"deleted {count} programs, ")
    assert targets.entries() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "--op", "RMSNormFwd"], "there is no operator 'RMSNormFwd'; did you mean RMSNormFwdOp?"),
        (["build", "--op", "zzz"], "there is no operator 'zzz'; there are "),
        (["build", "--op", "MoeUnpermuteFwdOp"], "MoeUnpermuteFwdOp is specified and not yet implemented"),
        (["build", "--op", "SoftmaxFwdOp", "--target", "tpu"], "invalid choice: 'tpu'"),
        (["build", "--cases", "--workloads"], "not allowed with argument"),
        (["build", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        ([], "required: show|clear|build"),
        (["prune"], "invalid choice: 'prune'"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_why(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cache.main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert targets.entries() == []


def test_a_program_that_does_not_build_is_reported_and_the_others_are_built(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tileops.runner import build

    def fragile(spec, key):
        if key.dtype("x") == "float16":
            raise RuntimeError("no space left")
        return build(spec, key)

    monkeypatch.setattr(runner, "build", fragile)
    code, out = run("build", "--op", "RMSNormFwdOp", "--target", "cpu")
    assert code == 1
    lines = out.splitlines()
    failed = [line for line in lines if line.startswith("failed ")]
    assert failed and all("x=float16" in line for line in failed)
    assert lines[0].endswith("N=4096): RuntimeError: no space left")
    assert any(line.startswith("ready  RMSNormFwdOp") and "x=bfloat16" in line for line in lines)
    assert lines[-1] == f"{len(failed)} could not be built"


def test_cases_of_every_implemented_operator_have_keys() -> None:
    from tileops.spec import all_specs

    for spec in all_specs().values():
        if spec.implemented:
            keys = [key for cases in (True, False) for key in cache._keys(spec, "cpu", cases)]
            assert keys
            assert {key.target for key in keys} == {"cpu"}


def test_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "tileops.cache", "show"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0 programs, 0 B, in ")
