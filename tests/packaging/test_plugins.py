"""The suite's own plugins: options and skips, the time budget, the count of examples."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests import budget, distribution, examples_plugin

from .conftest import ROOT


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project that uses this suite's plugins, with two operators in its manifest."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest("""
        pytest_plugins = ["tests.options", "tests.budget", "tests.examples_plugin"]
        def pytest_configure():
            from tests import budget
            budget.implemented_operators = lambda: ["AFwdOp", "BFwdOp"]
    """)
    pytester.makepyprojecttoml("""
        [tool.pytest.ini_options]
        testpaths = ["tests"]
        markers = ["gpu", "gpu2", "slow", "nvcc", "browser"]
    """)
    pytester.mkdir("tests")
    return pytester


def write_test(project: pytest.Pytester, text: str, folder: str = "tests") -> None:
    (project.path / folder / "test_it.py").write_text("import pytest\n" + text)


@pytest.mark.parametrize(
    ("nodeid", "operator", "grows"),
    [
        ("tests/conformance/test_values.py::test_values[RMSNormFwdOp-float16-0]", "RMSNormFwdOp", True),
        ("tileops/ops/norm.py::tileops.ops.norm.LayerNormFwdOp", "LayerNormFwdOp", True),
        ("tests/kernels/test_gemm.py::test_x[float16]", None, True),
        ("tests/conformance/test_x.py::test_x[SoftmaxBwdOp_rank2]", "SoftmaxBwdOp", True),
        ("tests/site/test_pages.py::test_x[GemmFwdOp]", "GemmFwdOp", True),
        ("tests/site/test_pages.py::test_search", None, False),
        ("tests/runtime/test_library.py::test_compile[SoftmaxFwdOp]", "SoftmaxFwdOp", False),
    ],
)
def test_whose_time_it_is(nodeid: str, operator: str | None, grows: bool) -> None:
    assert budget.operator_of(nodeid) == operator
    assert budget.grows(nodeid) == grows


def test_the_written_budget() -> None:
    assert budget.CORE_SECONDS == 25 * 60 * 2
    assert budget.OPERATORS == 200 and 1 <= budget.MARGIN <= 1.2


def cost_of(*, each: float, fixed: float) -> budget.Cost:
    cost = budget.Cost()
    cost.add("tests/conformance/test_a.py::test[AFwdOp]", 1.5 * each)
    cost.add("tests/kernels/test_b.py::test", 0.5 * each)
    cost.add("", fixed)
    total = budget.Cost()
    total.merge(cost.to_dict())
    return total


def test_the_verdict() -> None:
    most, operators = budget.MARGIN * budget.CORE_SECONDS, ["AFwdOp", "BFwdOp"]
    for fixed in (0.0, 300.0):
        each = (most - fixed) / budget.OPERATORS
        assert budget.verdict(cost_of(each=0.99 * each, fixed=fixed), operators)[1]
        assert not budget.verdict(cost_of(each=1.01 * each, fixed=fixed), operators)[1]
    assert not budget.verdict(cost_of(each=0, fixed=0), [])[1], "no implemented operator"


@pytest.mark.parametrize("xdist", [(), ("-n", "2", "--dist", "loadscope")])
def test_a_run_over_the_budget_fails(project: pytest.Pytester, xdist: tuple[str, ...]) -> None:
    project.mkdir("tests/conformance")
    write_test(
        project,
        """
import time
@pytest.mark.parametrize("op", ["AFwdOp", "BFwdOp"])
def test_values(op):
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
""",
        folder="tests/conformance",
    )
    with (project.path / "conftest.py").open("a") as conftest:
        conftest.write("\n    budget.CORE_SECONDS = 0.01\n")
    result = project.runpytest_subprocess(*xdist)
    result.stdout.fnmatch_lines(["*of 0 core-seconds for 200 operators*", "*OVER THE BUDGET*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_zero_examples_fail_a_complete_run(project: pytest.Pytester) -> None:
    write_test(project, "def test_a(): pass\n")
    result = project.runpytest_subprocess()
    result.stdout.fnmatch_lines(
        ["*examples that ran: 0 docstring, 0 Markdown*", "*NO docstring EXAMPLE RAN*"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.runpytest_subprocess("tests/test_it.py").ret == pytest.ExitCode.OK


@pytest.mark.parametrize("mark", ["slow", "nvcc"])
def test_marks_skip_and_no_skips_forbids_it(project: pytest.Pytester, mark: str) -> None:
    write_test(project, f"@pytest.mark.{mark}\ndef test_a(): pass\n")
    assert project.runpytest_subprocess("tests/test_it.py").parseoutcomes() == {"skipped": 1}
    forbidden = project.runpytest_subprocess("tests/test_it.py", "--no-skips", "-n", "1")
    forbidden.stdout.fnmatch_lines(["*--no-skips forbids it*", "tests/test_it.py::test_a"])
    assert forbidden.ret == pytest.ExitCode.TESTS_FAILED


def test_slow_runs_with_its_option(project: pytest.Pytester) -> None:
    write_test(project, "@pytest.mark.slow\ndef test_a(): pass\n")
    result = project.runpytest_subprocess("tests/test_it.py", "--slow", "--no-skips")
    assert result.parseoutcomes() == {"passed": 1}


def test_a_missing_gpu_is_excused(project: pytest.Pytester) -> None:
    write_test(
        project,
        """
from tests import options
options.hopper_gpus = lambda: 1
@pytest.mark.gpu
def test_one(): pass
@pytest.mark.gpu2
def test_two(): pass
""",
    )
    result = project.runpytest_subprocess("tests/test_it.py", "--no-skips")
    assert result.parseoutcomes() == {"passed": 1, "skipped": 1}
    assert result.ret == pytest.ExitCode.OK


def test_an_example_on_cuda_is_a_gpu_test() -> None:
    marks: list[str] = []
    example = SimpleNamespace(
        path=ROOT / "docs" / "index.md",
        source='x = torch.ones(2, device="cuda")',
        user_properties=[],
        add_marker=lambda mark: marks.append(mark.name),
    )
    examples_plugin.pytest_collection_modifyitems([example])  # type: ignore[list-item]
    assert marks == ["gpu"]
    assert example.user_properties == [("example", "Markdown")]


def test_a_page_runs_in_order_in_one_worker(project: pytest.Pytester) -> None:
    project.path.joinpath("conftest.py").write_text(
        """
import pytest
pytest_plugins = ["tests.distribution"]

class Page(pytest.File):
    def collect(self):
        for number in range(6):
            yield Block.from_parent(self, name=f"block{number}")

class Block(pytest.Item):
    def runtest(self):
        seen = self.parent.__dict__.setdefault("seen", [])
        seen.append(self.name)
        assert self.name == f"block{len(seen) - 1}"

def pytest_collect_file(file_path, parent):
    return Page.from_parent(parent, path=file_path) if file_path.suffix == ".md" else None
"""
    )
    for name in ("a.md", "b.md"):
        project.path.joinpath("tests", name).touch()
    result = project.runpytest_subprocess("-n", "2", "--dist", "loadscope")
    assert result.parseoutcomes() == {"passed": 12}


def test_what_shares_a_worker() -> None:
    scope = distribution.scope
    assert scope("docs/api/gemm.md::python:3") == scope("docs/api/gemm.md::python:9")
    assert scope("tests/a.py::test_x[GemmFwdOp-1]") == scope("tests/b.py::test_y[GemmFwdOp]")
    assert scope("tests/packaging/test_name.py::test_a") == scope("tests/packaging/test_wheel.py::test_b")
    assert scope("tests/spec/test_a.py::test_x") != scope("tests/spec/test_a.py::test_y")
