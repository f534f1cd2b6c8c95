"""Speed of the whole way beside what else there is: codes, whole fits, threads, first use, growth with n."""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from data import ROOT, best_of, load
from l0graph import L0Graph, l1_codes
from l0graph.codes.working_set import Dictionary
from l0graph.datasets import make_subspaces
from l0graph.metrics import clustering_accuracy, normalized_mutual_info

PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
PEERS = ("spams-without", "spams-zeroed", "spams-gram", "celer", "skglm", "sklearn")
PENALTY = 0.1
PEER_SECONDS = 6.0
REPEATS = 3
CORES = os.cpu_count()


def subspaces():
    X, _ = make_subspaces(500, n_subspaces=20, dim=5, ambient_dim=100, random_state=0)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def l1():
    """l1 codes at one penalty, all cores, three rounds; peers' lassos, one process a core, from some columns."""
    rows = {}
    if not PEERS_PYTHON.is_file():
        return {"peers": "not installed: make bench makes their environment"}
    yale, _, yale_source = load("yaleb_32x32")
    mnist, _, mnist_source = load("mnist")
    sets = {yale_source: yale, f"{mnist_source}, 5,000": mnist[:5000], "20 subspaces, n = 10,000, d = 100": subspaces()}
    for name, X in sets.items():
        columns = np.random.default_rng(0).permutation(len(X))[: 400 * CORES]
        ratios = {peer: [] for peer in PEERS}
        shown, seconds, processor = {}, [], []
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/X.npy", f"{folder}/columns.npy"]
            np.save(paths[0], X)
            np.save(paths[1], columns)
            for _ in range(REPEATS):
                begun = time.process_time()
                ours, result = best_of(1, lambda X=X: l1_codes(X, l1_penalty=PENALTY, n_jobs=-1))
                processor.append(time.process_time() - begun)
                seconds.append(ours)
                objectives = row_objectives(X, result.codes, columns)
                for peer in PEERS:
                    found = run_peer(peer, *paths)
                    if isinstance(found, str):
                        shown[peer] = found
                        continue
                    theirs = found["setup"] + len(X) / found["rate"]
                    ratios[peer].append(theirs / ours)
                    both = [(objectives[int(i)], value) for i, value in found["objectives"].items()]
                    excess = sum(mine for mine, _ in both) / sum(value for _, value in both) - 1
                    shown[peer] = (
                        f"{theirs:.3g} s ({len(both)} columns), ratio {min(ratios[peer]):.3g} to"
                        f" {max(ratios[peer]):.3g}; our objective over theirs - 1: {excess:.1e}"
                    )
        rows[f"{name}: l1_codes"] = (
            f"{min(seconds):.3g} to {max(seconds):.3g} s (processor time {min(processor):.3g} s)"
        )
        rows |= {f"{name}: {peer}": text for peer, text in shown.items()}
    return rows


def row_objectives(X, codes, columns):
    residuals = X[columns] - codes[columns] @ X
    values = np.sum(residuals**2, axis=1) + PENALTY * np.asarray(abs(codes[columns]).sum(axis=1)).ravel()
    return dict(zip(columns.tolist(), values.tolist(), strict=True))


def run_peer(peer, data, columns):
    """Return what peers.py prints, or why it does not."""
    command = [PEERS_PYTHON, ROOT / "benchmarks" / "peers.py", peer, data, columns, str(PENALTY), str(PEER_SECONDS)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    try:
        done = subprocess.run(
            [*map(str, command), str(CORES)], capture_output=True, text=True, timeout=180, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return "no column within 3 minutes"
    if done.returncode:
        return "failed: " + done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def products():
    """l1 codes of MNIST rows over all of MNIST, one thread: passes over X, share and rate of matrix products."""
    X, _, source = load("mnist")
    X = X.astype(np.float32)
    dictionary = Dictionary(X)
    dictionary.prepare()
    dictionary.sketch  # noqa: B018 - made now
    rows = np.random.default_rng(0).permutation(len(X))[:1024]
    seconds, flop = {"X": 0.0, "the sketch": 0.0}, {"X": 0.0, "the sketch": 0.0}

    def tiles(self, block, atoms=None):
        kind = "X" if atoms is None else "the sketch"
        atoms = self.unit if atoms is None else atoms
        size = -(-len(atoms) // max(1, -(-len(atoms) // 4096)))
        for first in range(0, len(atoms), size):
            begun = time.thread_time()
            product = block @ atoms[first : first + size].T
            seconds[kind] += time.thread_time() - begun
            flop[kind] += 2 * product.size * block.shape[1]
            yield first, product

    plain = Dictionary.tiles
    Dictionary.tiles = tiles
    try:
        with threadpool_limits(1):
            begun = time.thread_time()
            l1_codes(dictionary, l1_penalty=PENALTY, rows=rows)
            total = time.thread_time() - begun
            A, B = dictionary.unit[:512], dictionary.unit[:4096]
            best = min(timed_product(A, B) for _ in range(10))
    finally:
        Dictionary.tiles = plain
    rate = flop["X"] / seconds["X"]
    limit = 2 * len(A) * len(B) * A.shape[1] / best
    return {
        "data": f"{source}, n = {len(X)}, {len(rows)} rows",
        "passes over X a row": flop["X"] / (2 * len(rows) * X.size),
        "share of time in products with X": seconds["X"] / total,
        "share of time in products with the sketch": seconds["the sketch"] / total,
        "rate of products with X, GFLOP/s": rate / 1e9,
        "a plain product of that shape, GFLOP/s": limit / 1e9,
        "rate, share of a plain product's": rate / limit,
        "processor time for all rows, s": total * len(X) / len(rows),
    }


def timed_product(A, B):
    begun = time.thread_time()
    A @ B.T
    return time.thread_time() - begun


def threads():
    """Coding stage (l1 and l0) of MNIST-10,000: two threads beside one; the worst of three rounds."""
    X, _, source = load("mnist")
    X = X[:10_000]
    ratios, seconds = [], []
    for _ in range(REPEATS):
        spent = []
        for n_jobs in (1, 2):
            begun = time.perf_counter()
            L0Graph()._code(Dictionary(X)) if n_jobs == 1 else L0Graph(n_jobs=2)._code(Dictionary(X))
            spent.append(time.perf_counter() - begun)
        ratios.append(spent[0] / spent[1])
        seconds.append(spent)
    return {
        "data": f"{source}, n = {len(X)}",
        "one thread, two threads, s": "; ".join(f"{one:.3g}, {two:.3g}" for one, two in seconds),
        "ratio, worst": min(ratios),
        "ratio, best": max(ratios),
    }


def fits():
    """Whole fits, warm, all cores: the worst of three rounds, with the share of each stage."""
    rows = {}
    for name in ("coil20", "yaleb_32x32", "coil100"):
        X, y, source = load(name)
        rounds = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            model = L0Graph(len(np.unique(y)), random_state=0, n_jobs=-1).fit(X)
            rounds.append(time.perf_counter() - begun)
        stages = model.stage_seconds_
        shares = ", ".join(f"{stage} {100 * s / sum(stages.values()):.0f}%" for stage, s in stages.items())
        rows[source] = f"{max(rounds):.3g} s; {shares}; accuracy {clustering_accuracy(y, model.labels_):.3f}"
    return rows


def growth():
    """L0Graph(10) on the first n samples of MNIST, all cores, a process for each size."""
    sizes = [500, 1000, 2000, 5000, 10_000, 20_000, 40_000, 70_000]
    found = []
    for n in sizes:
        done = subprocess.run(
            [sys.executable, __file__, str(n)], capture_output=True, text=True, check=False, cwd=Path(__file__).parent
        )
        if done.returncode:
            return {"failed": done.stderr.strip().splitlines()[-1]}
        found.append(json.loads(done.stdout.splitlines()[-1]))
    draw_growth(sizes, found)
    rows = {
        f"n = {n:,}": (
            f"codes {f['codes']:.3g} s, embedding {f['embedding']:.3g} s, k-means {f['k-means']:.3g} s, all"
            f" {f['all']:.4g} s; peak {f['peak']:.0f} MiB, {f['own']:.0f} of them in the fit; accuracy"
            f" {f['accuracy']:.3f}, NMI {f['nmi']:.3f}"
        )
        for n, f in zip(sizes, found, strict=True)
    }
    large = [(n, f) for n, f in zip(sizes, found, strict=True) if n >= 5000]
    for what in ("codes", "all", "own"):
        slope = np.polyfit(np.log([n for n, _ in large]), np.log([f[what] for _, f in large]), 1)[0]
        name = "memory of the fit" if what == "own" else f"seconds of {what}"
        rows[f"exponent of {name} in n, 5,000 to 70,000"] = float(slope)
    rows["picture"] = "out/growth.png"
    return rows


def draw_growth(sizes, found):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
    looks = {
        "all": ("k", "o-"),
        "codes": ("#0072B2", "s--"),
        "embedding": ("#E69F00", "^:"),
        "k-means": ("#666666", "v-."),
    }
    for what, (color, style) in looks.items():
        ax.loglog(sizes, [f[what] for f in found], style, color=color, label="whole fit" if what == "all" else what)
    guide = found[-1]["codes"] * (np.array(sizes[3:]) / sizes[-1]) ** 2
    ax.loglog(sizes[3:], guide, color="0.8", linewidth=1, zorder=0, label="n²")
    ax.set_xlabel("samples (MNIST)")
    ax.set_ylabel("seconds")
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)
    (ROOT / "out").mkdir(exist_ok=True)
    figure.savefig(ROOT / "out" / "growth.png", dpi=150)


def one_size(n):
    """Fit on n samples, print what it took: a process of its own, for its peak."""
    from data import forget_peak, peak_mib
    from l0graph import warmup

    warmup()
    X, y, _ = load("mnist", dtype=np.float32)
    X, y = X[:n].copy(), y[:n]
    forget_peak()
    before = peak_mib()
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = L0Graph(10, random_state=0, n_jobs=-1).fit(X)
    stages = {"attach": 0.0, **model.stage_seconds_}
    print(
        json.dumps(
            {
                "all": time.perf_counter() - begun,
                "codes": stages["l1 codes"] + stages["l0 codes"],
                "embedding": stages["embedding"],
                "k-means": stages["k-means"],
                "peak": peak_mib(),
                "own": peak_mib() - before,
                "accuracy": clustering_accuracy(y, model.labels_),
                "nmi": normalized_mutual_info(y, model.labels_),
            }
        )
    )


def first_use():
    """Processes that begin: import, first fit with nothing compiled, first fit with kernels compiled before."""

    def seconds(code, **environment):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
        return time.perf_counter() - begun

    ours, theirs = "from l0graph import L0Graph", "import sklearn.cluster"
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(6)][1:]
    fit = (
        "import numpy as np; from l0graph import L0Graph\n"
        "L0Graph(3).fit(np.random.RandomState(0).standard_normal((300, 20)))"
    )
    with tempfile.TemporaryDirectory() as cache:
        first, cached = seconds(fit, NUMBA_CACHE_DIR=cache), seconds(fit, NUMBA_CACHE_DIR=cache)
    return {
        "import of L0Graph over import of sklearn.cluster, worst of 5": max(a / b for a, b in pairs),
        "import of L0Graph, s": min(a for a, _ in pairs),
        "process with a first fit, nothing compiled, s": first,
        "process with a first fit, compiled before, s": cached,
    }


if __name__ == "__main__":
    one_size(int(sys.argv[1]))
