"""The codes on a device: are they right, how fast, beside the dense iteration, and how near the device's limits.

Needs torch, NumPy, SciPy; nothing else of l0graph's dependencies. ``--data`` names a folder of npz files with X (and y)
that take the place of generated data of the same size. Prints as it goes; the figures go to $OUT/gpu.json or out/.
"""

import argparse
import json
import os
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

try:
    import array_api_compat
except ImportError:  # SciPy carries a copy
    from scipy._lib import array_api_compat

    sys.modules["array_api_compat"] = array_api_compat

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from l0graph.backends import operations, raw, to_scipy
from l0graph.backends.dictionary import padded
from l0graph.backends.l0 import l0_block
from l0graph.codes import _arrays

L1, L0, L = 0.1, 0.5, 100.0
START = {"init": None, "l1_penalty": L1, "rows": None, "X_new": None}
# What stands in for a set that is not there: subspaces, dimension of each, features.
SETS = {"yaleb_32x32": (38, 9, 1024), "mnist": (10, 12, 784)}


def load(name, n, folder, dtype, device):
    path = Path(folder or ".") / f"{name}.npz"
    k, dim, d = SETS[name]
    if folder and path.is_file():
        with np.load(path, allow_pickle=False) as archive:
            X = archive["X"][:n].astype(np.float64)
        source = name
    else:
        rng = np.random.default_rng(0)
        bases = rng.standard_normal((k, dim, d)) / np.sqrt(d)
        which = rng.integers(0, k, size=n)
        X = np.empty((n, d))
        for c in range(k):
            rows = np.flatnonzero(which == c)
            X[rows] = rng.standard_normal((len(rows), dim)) @ bases[c]
        X += 0.2 / np.sqrt(d) * rng.standard_normal((n, d))
        source = f"subspaces of the size of {name}"
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    return torch.asarray(X, dtype=dtype, device=device), source


class Bench:
    def __init__(self, device, folder):
        self.device, self.folder = torch.device(device), folder
        self.results = {"torch": torch.__version__}
        self.started = time.perf_counter()
        self.out = Path(os.environ.get("OUT", "out")) / "gpu.json"

    def sync(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def timed(self, function, repeat=1):
        best, result = float("inf"), None
        for _ in range(repeat):
            self.sync()
            started = time.perf_counter()
            result = function()
            self.sync()
            best = min(best, time.perf_counter() - started)
        return best, result

    def say(self, section, name, value, unit=""):
        self.results.setdefault(section, {})[name] = value
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        print(f"{time.perf_counter() - self.started:7.1f} s  {section:<24} {name:<58} {text} {unit}", flush=True)

    def section(self, function, *args):
        try:
            function(self, *args)
        except Exception as error:  # one part that fails must not cost the others
            traceback.print_exc()
            self.say("failed", function.__name__ + str(args), repr(error)[:200])
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(self.results, indent=1))


class Traffic(TorchDispatchMode):
    """Bytes that operations read and write, views left out; products' multiplications and additions, by type."""

    def __init__(self):
        super().__init__()
        self.bytes, self.operations, self.products = 0, {}, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.is_view:
            return result
        arrays = [a for a in tree_flatten((args, kwargs, result))[0] if isinstance(a, torch.Tensor)]
        if any(a.layout != torch.strided for a in arrays):
            return result
        self.bytes += sum(a.numel() * a.element_size() for a in arrays)
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
            a, b = args[:2]
            kind = str(a.dtype)[6:]
            self.operations[kind] = self.operations.get(kind, 0) + 2 * a.numel() * b.shape[-1]
        return result


@contextmanager
def without_raw_kernel():
    os.environ[raw.SWITCH] = "0"
    try:
        yield
    finally:
        del os.environ[raw.SWITCH]


def limits(bench):
    n = 2**28 if bench.device.type == "cuda" else 2**24
    a, b = torch.ones(n, device=bench.device), torch.empty(n, device=bench.device)
    seconds = bench.timed(lambda: b.copy_(a), 5)[0]
    bench.say("limits", "copy bandwidth, read and written", 8 * n / seconds / 1e9, "GB/s")
    m = 8192 if bench.device.type == "cuda" else 1024
    for dtype in (torch.float32, torch.float64):
        A = torch.randn(m, m, device=bench.device, dtype=dtype)
        seconds = bench.timed(lambda A=A: A @ A, 4)[0]
        bench.say("limits", f"matrix product, {str(dtype)[6:]}", 2 * m**3 / seconds / 1e12, "TFLOP/s")


def dense(X, Z, steps, penalty=L0, rate=L):
    """The paper's iteration on the n x n matrix, in place; return Z."""
    threshold = (2 * penalty / rate) ** 0.5
    for _ in range(steps):
        R = X - Z @ X
        Z.addmm_(R, X.T, alpha=2 / rate)
        Z.fill_diagonal_(0)
        Z[Z.abs() < threshold] = 0
    return Z


def correctness(bench, dtype):
    X, source = load("yaleb_32x32", 2414, bench.folder, dtype, bench.device)
    section = f"correct, {str(dtype)[6:]}"
    bench.say(section, "data", source)
    start = _arrays.l1_codes(X, l1_penalty=L1)
    wide, Z = X.double(), start.codes.to_dense().double()
    R = wide - Z @ wide
    C = wide @ R.T
    C.fill_diagonal_(0)
    outside = torch.where(Z.T == 0, C.abs(), 0).max().item() / (L1 / 2)
    inside = torch.where(Z.T != 0, (C - L1 / 2 * Z.T.sign()).abs(), 0).max().item() / (L1 / 2)
    bench.say(section, "l1: largest correlation outside the support, relative", outside)
    bench.say(section, "l1: stationarity on the support, relative", inside)
    bench.say(section, "l1: largest certified gap", float(start.gap.max()))
    bench.say(section, "l1: entries a code", start.codes.values().numel() / len(X))
    for penalty, rate, steps, n in ((L0, L, 100, len(X)), (5e-4, "global", 10, 600)):
        part = start if n == len(X) else _arrays.l1_codes(X[:n], l1_penalty=L1)
        begin = {**START, "init": part}
        ours = _arrays.l0_codes(X[:n], begin, penalty, lipschitz=rate, max_iter=steps, tol=0.0).codes.to_dense()
        number = 2.2 * torch.linalg.matrix_norm(wide[:n], 2).item() ** 2 if rate == "global" else rate
        theirs = dense(wide[:n], part.codes.to_dense().double(), steps, penalty, number)
        name = f"l0, penalty {penalty:g}, L {number:.0f}, {steps} steps"
        bench.say(section, f"{name}: entries", int((theirs != 0).sum()))
        bench.say(section, f"{name}: largest difference from dense float64", (ours - theirs).abs().max().item())
        bench.say(section, f"{name}: supports differ in", int(((ours != 0) != (theirs != 0)).sum()))
    try:
        from l0graph import l0_codes, l1_codes
    except ImportError as error:
        bench.say(section, "NumPy path not compared", str(error))
        return
    reference = l1_codes(X.cpu().numpy(), n_jobs=-1)
    for name, one, other in (
        ("l1", reference, start),
        ("l0", l0_codes(X.cpu().numpy(), init=reference, n_jobs=-1), _arrays.l0_codes(X, {**START, "init": start}, L0)),
    ):
        difference = abs(one.codes - to_scipy(other.codes))
        bench.say(section, f"{name}: largest difference from the NumPy path", float(difference.max()))


def speed(bench, name, n, dtype, dense_steps):
    X, source = load(name, n, bench.folder, dtype, bench.device)
    section = f"{name}[:{n}], {str(dtype)[6:]}"
    bench.say(section, "data", source)
    _arrays.l0_codes(X[:1000], START, L0, max_iter=3)  # libraries loaded
    repeat = 2 if n <= 10000 else 1
    if bench.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds, start = bench.timed(lambda: _arrays.l1_codes(X, l1_penalty=L1), repeat)
    bench.say(section, "l1 codes", seconds, f"s, {start.codes.values().numel() / len(X):.1f} entries a code")
    begin = {**START, "init": start}
    ours, result = bench.timed(lambda: _arrays.l0_codes(X, begin, L0, tol=0.0), repeat)
    bench.say(section, "l0 codes from them, 100 steps", ours, "s")
    if raw.usable(_arrays.Atoms(X[:1]), 1):
        with without_raw_kernel():
            seconds_without = bench.timed(lambda: _arrays.l0_codes(X, begin, L0, tol=0.0), repeat)[0]
        bench.say(section, "l0 codes from them, without the raw kernel", seconds_without, "s")
    else:
        bench.say(section, "raw kernel", "not in use: is CuPy installed?")
    if bench.device.type == "cuda":
        bench.say(section, "peak memory, ours", torch.cuda.max_memory_allocated() / 2**30, "GiB")
    if dense_steps:
        Z = start.codes.to_dense()
        try:
            dense(X, Z, 1)
            theirs = bench.timed(lambda: dense(X, Z, dense_steps))[0] / dense_steps * 100
        finally:
            del Z
        bench.say(section, f"dense iteration, 100 steps (from {dense_steps})", theirs, "s")
        bench.say(section, "dense / ours", theirs / ours)
        if bench.device.type == "cuda":
            bench.say(section, "peak memory, dense", torch.cuda.max_memory_allocated() / 2**30, "GiB")
    raw_kernel(bench, X, begin, section)
    for what, measured, run in (
        ("l1", seconds, lambda: _arrays.l1_codes(X, l1_penalty=L1)),
        ("l0", ours, lambda: _arrays.l0_codes(X, begin, L0, tol=0.0)),
    ):
        with operations() as counted:
            run()
        with Traffic() as traffic:
            run()
        bench.say(section, f"{what}: blocks", len(counted.per_block))
        bench.say(section, f"{what}: operations, flags of a block", str(max(b[1:] for b in counted.per_block)))
        limit = bench.results["limits"]
        least = traffic.bytes / 1e9 / limit["copy bandwidth, read and written"]
        bench.say(section, f"{what}: bytes moved, if none stays in a cache", traffic.bytes / 1e9, "GB")
        for kind, flops in traffic.operations.items():
            least_product = flops / 1e12 / limit[f"matrix product, {kind}"]
            bench.say(section, f"{what}: products in {kind}", flops / 1e12, f"TFLOP, at least {least_product:.3f} s")
        bench.say(section, f"{what}: time the bytes take at least, share of ours", least / measured, f"({least:.3f} s)")
    del result


def raw_kernel(bench, X, begin, section):
    """One block of rows by the array path and by the raw kernel."""
    if bench.device.type != "cuda":
        return
    atoms = _arrays.Atoms(X)
    targets = _arrays.Targets(atoms, None, None)
    codes, counts = _arrays.started(targets, begin)
    chosen = np.argsort(counts, kind="stable")[-8192:]
    chosen = chosen[counts[chosen] <= raw.WIDTHS[-1]]
    members, z = padded(atoms.space, codes, counts, chosen, atoms.n)
    if not raw.usable(atoms, members.shape[1]):
        return
    width = raw.padded_width(members.shape[1])
    at = torch.asarray(chosen, device=X.device)
    values, own = targets.values[at], targets.own[at]
    step = {"penalty": L0, "n_steps": 100}
    rule = {"lipschitz": L, "tau": 1.1, "raise_where_needed": False}
    with without_raw_kernel():
        arrays, parts = bench.timed(lambda: l0_block(atoms, values, own, members, z, **step, **rule), 3)
    rate = torch.full((len(chosen),), L, dtype=torch.float64, device=X.device)
    reach = L0 / 2 / atoms.max_norm**2
    run = lambda: raw.iterate(atoms, values, members, z, rate, reach=reach, **step)  # noqa: E731
    run()
    kernel, (codes_, objectives, opened) = bench.timed(run, 3)
    name = f"{len(chosen)} rows, width {width}"
    bench.say(section, f"l0 block of {name}: array path", arrays, "s")
    bench.say(section, f"l0 block of {name}: raw kernel", kernel, "s")
    bench.say(section, "raw kernel: faster by", arrays / kernel)
    if len(parts) == 1:
        bench.say(section, "raw kernel: largest difference of codes", (codes_ - parts[0][2]).abs().max().item())
        bench.say(
            section, "raw kernel: largest difference of objectives", (objectives - parts[0][3]).abs().max().item()
        )
    bench.say(section, "raw kernel: rows opened", int(opened.sum()))
    flops = len(chosen) * (2 * width**2 * (atoms.d + 101) + 2 * width * atoms.d)
    bench.say(section, "raw kernel: float64 rate", flops / kernel / 1e12, "TFLOP/s")


def profile(bench):
    """Which kernels the time of a block of l1 codes goes to."""
    X = load("mnist", 10000, bench.folder, torch.float32, bench.device)[0]
    from torch.profiler import ProfilerActivity

    _arrays.l1_codes(X, l1_penalty=L1)
    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as record:
        _arrays.l1_codes(X, l1_penalty=L1)
        bench.sync()
    table = record.key_averages().table(sort_by="self_cuda_time_total", row_limit=18, max_name_column_width=60)
    (bench.out.parent / "profile.txt").write_text(table)
    print("\n".join(line[:62] + line[-110:] for line in table.splitlines()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of npz files")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="Yale B's size alone")
    args = parser.parse_args()
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        print("No CUDA device was found: nothing was measured.")
        return
    bench = Bench(args.device, args.data)
    if bench.device.type == "cuda":
        bench.say("device", "name", torch.cuda.get_device_name())
    bench.section(limits)
    bench.section(correctness, torch.float64)
    bench.section(correctness, torch.float32)
    bench.section(speed, "yaleb_32x32", 2414, torch.float32, 100)
    bench.section(speed, "yaleb_32x32", 2414, torch.float64, 100)
    if not args.quick:
        bench.section(speed, "mnist", 10000, torch.float32, 100)
        bench.section(speed, "mnist", 70000, torch.float32, 5)
        if bench.device.type == "cuda":
            bench.section(profile)
    print(f"{bench.out} has the figures")


if __name__ == "__main__":
    main()
