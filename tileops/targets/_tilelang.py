"""Everything that this library takes from inside TileLang and TVM, in one place.

The names below are private or have moved between releases, so the release is pinned: with another one
importing this module fails with a sentence rather than with a wrong result.
"""

import importlib.metadata
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import TargetError, UnsupportedOnCpu

__all__ = [
    "VERSION",
    "Op",
    "PointerType",
    "PrimType",
    "compile_sm90",
    "contiguous",
    "generate_c",
    "lower_sm90",
    "nvcc_command",
    "pre_order_visit",
    "template_dir",
    "text",
    "tirx",
]

VERSION = "0.1.15"


def _require_version() -> None:
    try:
        found = importlib.metadata.version("tilelang")
    except importlib.metadata.PackageNotFoundError:
        raise TargetError(
            f"TileLang {VERSION} is needed to compile a program, and TileLang is not installed"
        ) from None
    if found.partition("+")[0] != VERSION:
        raise TargetError(f"TileLang {VERSION} is needed to compile a program, and {found} is installed")


_require_version()

import tilelang  # noqa: E402
import tilelang.transform.pass_config  # noqa: E402
from tilelang import tvm  # noqa: E402
from tilelang.backend.module import create_backend_context  # noqa: E402
from tilelang.engine.lower import lower_to_host_device_ir  # noqa: E402
from tvm import tirx  # noqa: E402
from tvm.ir import Op, PointerType, PrimType  # noqa: E402
from tvm.tirx.stmt_functor import pre_order_visit  # noqa: E402

_SM90 = {"kind": "cuda", "arch": "sm_90a"}
_NO_CPU_FORM = (
    r'Unresolved call .*?name="([^"]+)"',
    r"Cannot convert type (\S+) to C",
    r"no (\S+) implementation is registered",
)
_scope_lock = threading.Lock()
_scope_depth = 0


def text(program: Any) -> str:
    """The printed program: equal texts compile to equal code, and comments do not matter."""
    return program.script(show_meta=True)


def template_dir() -> Path:
    """The folder of the headers that generated code includes."""
    return Path(tilelang.__file__).parent / "src"


def contiguous(buffer: Any) -> bool:
    """Whether the declared strides are those of a contiguous tensor of the declared shape."""
    want: Any = 1
    analyzer = tvm.arith.Analyzer()
    for size, stride in reversed(list(zip(buffer.shape, buffer.strides, strict=False))):
        if not analyzer.can_prove_equal(stride, want):
            return False
        want = want * size
    return True


@contextmanager
def _cache_folder(root: Path) -> Iterator[None]:
    """TileLang keeps its files under ``root`` and stays silent; what the user set comes back afterwards."""
    global _scope_depth
    env = tilelang.env
    with _scope_lock:  # the settings are the process's: the outermost of several threads sets and resets them
        if _scope_depth == 0:
            env.TILELANG_CACHE_DIR = str(root / "hopper")
            env.TILELANG_PRINT_ON_COMPILATION = "0"
        _scope_depth += 1
    try:
        yield
    finally:
        with _scope_lock:
            _scope_depth -= 1
            if _scope_depth == 0:
                env.TILELANG_CACHE_DIR = None
                env.TILELANG_PRINT_ON_COMPILATION = None


def compile_sm90(program: Any, pass_configs: dict[str, Any], root: Path) -> tuple[Callable[..., None], Any]:
    """The compiled host function, and the kernel that keeps it alive."""
    with _cache_folder(root):
        kernel = tilelang.compile(
            program,
            target=_SM90,
            execution_backend="tvm_ffi",
            verbose=False,
            pass_configs=pass_configs or None,
        )
        executable = kernel.adapter.get_exportable_executable()
        module = executable.jit() if isinstance(executable, tvm.runtime.Executable) else executable
    # The function itself: `kernel(...)` and `kernel.torch_function(...)` are Python loops around this call.
    return module.get_function("main"), kernel


def lower_sm90(program: Any, pass_configs: dict[str, Any]) -> tuple[str, int]:
    """The CUDA source and the largest dynamic shared memory of its kernels, in bytes."""
    configs = tilelang.transform.pass_config.normalize_pass_configs(pass_configs)
    target = tvm.target.Target(_SM90)
    with tvm.transform.PassContext(opt_level=3, config=configs), target:
        artifact = tilelang.lower(program, target=target)
    kernels = artifact.device_mod.functions.values()
    return artifact.kernel_source, max(int(k.attrs.get("dyn_shared_memory_buf", 0)) for k in kernels)


def nvcc_command() -> list[str] | None:
    """The command of nvcc, as TileLang finds and calls it for sm_90a, or None where there is none."""
    home = tilelang.env.CUDA_HOME
    nvcc = str(Path(home) / "bin" / "nvcc") if home else shutil.which("nvcc")
    if nvcc is None or not Path(nvcc).exists():
        return None
    root = Path(tilelang.__file__).parent
    return [
        *(nvcc, "--cubin", "-O3", "-std=c++20", "-w", "-gencode", "arch=compute_90a,code=sm_90a"),
        *(f"-I{root / 'src'}", f"-I{root / '3rdparty' / 'cutlass' / 'include'}"),
    ]


def generate_c(func: Any) -> tuple[str, list[dict[str, Any]]]:
    """C++ source of a rewritten program and, for every kernel in it, its symbol and its parameters."""
    context = create_backend_context("c", None, "auto")
    config = {"tirx.disable_vectorize": True, "tl.disable_out_of_bound_warning": True}
    try:
        with tvm.transform.PassContext(opt_level=3, config=config), context.target:
            device = tilelang.transform.LowerIntrin()(lower_to_host_device_ir(func, context)[1])
            # TileLang would simplify once more here: seconds for dynamic sizes, and g++ does the same.
            device = tilelang.transform.HoistBroadcastValues()(device)
            source = context.codegen_device(device, compile_device=False).inspect_source()
    except Exception as error:
        reason = _no_cpu_form(str(error))
        if reason:
            raise UnsupportedOnCpu(reason) from error
        raise
    functions = sorted(device.functions.items(), key=lambda kv: (len(kv[0].name_hint), kv[0].name_hint))
    return source, [
        {"symbol": str(f.attrs["global_symbol"]), "params": [(p.name, str(p.dtype)) for p in f.params]}
        for _, f in functions
    ]


def _no_cpu_form(message: str) -> str | None:
    missing = re.search("|".join(_NO_CPU_FORM), message)
    return f"{next(g for g in missing.groups() if g)} has no CPU form" if missing else None
