"""The raw CUDA kernel: its arithmetic on the host, on real threads with a real barrier; its resources by nvcc."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from l0graph import l0_codes, l1_codes, to_scipy
from l0graph.backends import raw
from methods import random_data
from oracles.l0 import dense_l0_iteration

HOST = Path(__file__).with_name("cuda_on_threads.h")
LAUNCH = """
extern "C" void launch(int rows, const SAMPLE* X, const SAMPLE* targets, const long long* members,
    const double* constants, const double* L, int d, int n_steps, double* codes, double* objectives, int* opened) {
  on_threads(rows, WIDTH, [=] {
    proximal(X, targets, members, constants, L, d, n_steps, codes, objectives, opened);
  });
}
"""


def launcher(folder, width, sample):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler to run the kernel on the host with")
    source = folder / "kernel.cpp"
    source.write_text(f'#include "{HOST}"\n{raw.SOURCE.read_text()}{LAUNCH}')
    library = folder / "kernel.so"
    flags = ["-std=c++20", "-O2", "-shared", "-fPIC", "-pthread", f"-DWIDTH={width}", f"-DSAMPLE={sample}"]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    return ctypes.CDLL(str(library)).launch


def padded(codes, rows, width, zero):
    members = np.full((len(rows), width), zero, dtype=np.int64)
    z = np.zeros((len(rows), width))
    for b, row in enumerate(rows):
        items = slice(codes.indptr[row], codes.indptr[row + 1])
        members[b, : items.stop - items.start] = codes.indices[items]
        z[b, : items.stop - items.start] = codes.data[items]
    return members, z


RUNS = [(32, "double", 0.5, 100.0), (64, "float", 0.5, 100.0), (96, "double", 0.1, 30.0)]


@pytest.mark.parametrize(("width", "sample", "penalty", "L"), RUNS)
def test_equals_the_dense_iteration(tmp_path, width, sample, penalty, L):
    X = random_data(40, 21).astype(np.float32 if sample == "float" else np.float64)
    init, rows, n_steps = l1_codes(X).codes, np.array([3, 0, 17]), 6
    members, z = padded(init, rows, width, len(X))
    atoms = np.concatenate([X, np.zeros((1, X.shape[1]), dtype=X.dtype)])
    objectives, opened = np.empty((len(rows), n_steps + 1)), np.full(len(rows), -1, dtype=np.int32)
    launch = launcher(tmp_path, width, sample)
    arrays = [atoms, X[rows], members, np.array([penalty, penalty / 2]), np.full(len(rows), L)]
    pointers = [array.ctypes for array in arrays]
    launch(len(rows), *pointers, X.shape[1], n_steps, z.ctypes, objectives.ctypes, opened.ctypes)
    expected, _, _, iterates = dense_l0_iteration(X, init.toarray(), penalty, lipschitz=L, max_iter=n_steps)
    ours = np.zeros((len(rows), len(X) + 1))
    np.put_along_axis(ours, members, z, axis=1)
    np.testing.assert_allclose(ours[:, :-1], expected[rows], rtol=0, atol=1e-12)
    for b, row in enumerate(rows):
        losses = [np.sum((X[row] - Z[row] @ X) ** 2) + penalty * np.count_nonzero(Z[row]) for Z in iterates]
        np.testing.assert_allclose(objectives[b], losses, rtol=1e-9)
    np.testing.assert_array_equal(opened, 0)


def test_tells_where_an_atom_might_have_entered(tmp_path):
    X = random_data(30, 9)
    init = l1_codes(X).codes
    members, z = padded(init, np.arange(2), 32, len(X))
    atoms = np.concatenate([X, np.zeros((1, 9))])
    objectives, opened = np.empty((2, 3)), np.zeros(2, dtype=np.int32)
    constants, L = np.array([1e-4, 5e-5]), np.array([10.0, 1e9])
    arrays = [atoms, X[:2].copy(), members, constants, L]
    launch = launcher(tmp_path, 32, "double")
    launch(2, *(array.ctypes for array in arrays), 9, 2, z.ctypes, objectives.ctypes, opened.ctypes)
    np.testing.assert_array_equal(opened, [1, 0])


@pytest.mark.parametrize("penalty", [0.5, 0.05])
def test_runs_inside_of_l0_codes(tmp_path, monkeypatch, penalty):
    torch = pytest.importorskip("torch", reason="torch is not installed: see make test")
    X = random_data(20, 12)
    init = l1_codes(X, l1_penalty=0.02)
    expected = l0_codes(X, init=init, l0_penalty=penalty, max_iter=4)
    library, widths = launcher(tmp_path, 32, "double"), []

    def on_host(width, sample, inputs, d, n_steps, outputs):
        assert (width, sample) == (32, "double")
        assert all(array.is_contiguous() for array in (*inputs, *outputs))
        widths.append(width)
        pointers = [[ctypes.c_void_p(array.data_ptr()) for array in arrays] for arrays in (inputs, outputs)]
        library(len(inputs[1]), *pointers[0], d, n_steps, *pointers[1])

    monkeypatch.setattr(raw, "usable", lambda atoms, width: width <= 32)
    monkeypatch.setattr(raw, "_launch", on_host)
    result = l0_codes(torch.asarray(X), init=init, l0_penalty=penalty, max_iter=4)
    assert widths
    ours = to_scipy(result.codes)
    np.testing.assert_array_equal(ours.indices, expected.codes.indices)
    np.testing.assert_allclose(ours.data, expected.codes.data, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.objective, expected.objective, rtol=1e-12)


def test_is_for_cuda_devices_and_can_be_switched_off(monkeypatch):
    atoms = SimpleNamespace(X=None, dtype="float64", space=SimpleNamespace(on_cuda=True, xp=np))
    monkeypatch.setattr(raw, "find_spec", lambda name: name)
    monkeypatch.setattr(raw, "_device", lambda X: 0)
    monkeypatch.setattr(raw, "_kernel", lambda width, sample, device: (width, sample, device))
    assert raw.usable(atoms, 32)
    assert not raw.usable(atoms, raw.WIDTHS[-1] + 1)
    monkeypatch.setenv(raw.SWITCH, "0")
    assert not raw.usable(atoms, 32)
    monkeypatch.delenv(raw.SWITCH)
    atoms.space.on_cuda = False
    assert not raw.usable(atoms, 32)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("width", [raw.WIDTHS[1], raw.WIDTHS[-1]])
def test_compiles_without_spills(tmp_path, architecture, width):
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    flags = ["-O3", f"-arch={architecture}", "-cubin", "-Xptxas", "-v", "-DSAMPLE=double", f"-DWIDTH={width}"]
    command = ["nvcc", *flags, "-o", tmp_path / "kernel.cubin", raw.SOURCE]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in report
    assert int(re.search(r"Used (\d+) registers", report).group(1)) <= 128
    assert raw.shared_bytes(width) <= 163 * 1024  # what a block may have on sm_80
