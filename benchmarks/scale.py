"""Past memory and past one machine: what it takes. Run as python benchmarks/scale.py SECTION; --help lists them."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from data import load, peak_mib


def write_subspaces(path, n, n_features, n_clusters, dim, noise, seed=0):
    """Write float32 samples near subspaces to a .npy file, block by block; return their clusters."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.standard_normal((n_features, dim)))[0].T.astype(np.float32) for _ in range(n_clusters)]
    labels = rng.integers(n_clusters, size=n)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, n_features))
    for start in range(0, n, 8192):
        y = labels[start : start + 8192]
        block = rng.standard_normal((len(y), n_features), dtype=np.float32) * np.float32(noise)
        for c in np.unique(y):
            chosen = np.flatnonzero(y == c)
            coefs = rng.standard_normal((len(chosen), dim), dtype=np.float32)
            block[chosen] += coefs / np.linalg.norm(coefs, axis=1, keepdims=True) @ bases[c]
        X[start : start + 8192] = block
    X.flush()
    return labels


_FIT = """
import json, sys
sys.path.insert(0, {here!r})
import l0graph
from data import peak_mib
from l0graph.scale import open_matrix
l0graph.warmup()
kind, file, parameters, where, labels = json.loads(sys.argv[1])
before = peak_mib()
model = getattr(l0graph, kind)(**parameters).fit(open_matrix(file), **where)
import numpy as np
np.save(labels, model.labels_)
print(json.dumps([before, peak_mib(), model.stage_seconds_, len(model._fit_X), model.n_components_, model.n_attached_]))
"""


def fit_apart(kind, file, parameters, where):
    """Fit in a process of its own; return (labels, peak before and after in MiB, seconds of the stages, atoms)."""
    with tempfile.TemporaryDirectory() as folder:
        labels = str(Path(folder) / "labels.npy")
        code = _FIT.format(here=str(Path(__file__).parent))
        arguments = json.dumps([kind, str(file), parameters, where, labels])
        run = subprocess.run([sys.executable, "-c", code, arguments], check=True, stdout=subprocess.PIPE, text=True)
        return np.load(labels), *json.loads(run.stdout.strip().splitlines()[-1])


def show(facts):
    for name, value in facts.items():
        text = f"{value:.4g}" if isinstance(value, float) else value
        print(f"  {name:<44}{text}", flush=True)


def memory_map(args):
    """Samples of 8 GiB on disk, clustered within 3 GiB of memory."""
    from l0graph.metrics import clustering_accuracy

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        file = Path(folder) / "X.npy"
        started = time.perf_counter()
        y = write_subspaces(file, args.samples, args.features, 20, 10, 0.01)
        made = time.perf_counter() - started
        parameters = {
            "n_clusters": 20,
            "dictionary": args.dictionary or 1000,
            "random_state": 0,
            "n_jobs": args.jobs,
            "verbose": 1,
        }
        where = {"memory_limit": "3GiB", "run_dir": str(Path(folder) / "run")}
        labels, before, peak, seconds, atoms, components, attached = fit_apart(args.method, file, parameters, where)
        show(
            {
                "X": f"{args.samples:,} x {args.features:,} float32, {file.stat().st_size / 2**30:.2f} GiB, on disk",
                "writing it, s": made,
                "method": f"{args.method} over {atoms:,} exemplars, memory_limit 3GiB, {args.jobs} threads",
                **{f"{name}, s": value for name, value in seconds.items()},
                "together, s": sum(seconds.values()),
                "peak before the fit, MiB": before,
                "peak memory, MiB": peak,
                "accuracy": clustering_accuracy(y, labels),
                "components, attached": f"{components}, {attached}",
            }
        )


def million(args):
    """A million points in 50 subspaces of R^30, beside the exact method on 20,000 of them."""
    from l0graph.metrics import clustering_accuracy

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        file, few = Path(folder) / "X.npy", Path(folder) / "few.npy"
        y = write_subspaces(file, args.samples, 30, 50, 5, 0.01)
        common = {"n_clusters": 50, "random_state": 0, "n_jobs": args.jobs, "verbose": 1}
        parameters = {**common, "dictionary": args.dictionary or "auto"}
        labels, before, peak, seconds, atoms, *_ = fit_apart(args.method, file, parameters, {})
        accuracy = clustering_accuracy(y, labels)
        show(
            {
                "X": f"{args.samples:,} x 30, 50 subspaces of dimension 5, noise 0.01 a feature",
                "method": f"{args.method} over {atoms:,} exemplars, {args.jobs} threads",
                **{f"{name}, s": value for name, value in seconds.items()},
                "together, minutes": sum(seconds.values()) / 60,
                "peak before the fit, MiB": before,
                "peak memory, MiB": peak,
                "accuracy": accuracy,
            }
        )
        X = np.load(file, mmap_mode="r")
        chosen = np.sort(np.random.default_rng(0).choice(len(X), min(20_000, len(X)), replace=False))
        np.save(few, X[chosen])
        exact_labels, _, peak, seconds, *_ = fit_apart(args.method, few, common, {})
        exact = clustering_accuracy(y[chosen], exact_labels)
        show(
            {
                f"exact on {len(chosen):,} of them: seconds": sum(seconds.values()),
                "peak memory, MiB": peak,
                "accuracy ": exact,
                "ratio of accuracies": accuracy / exact,
            }
        )


def workers(args):
    """Two Dask workers of one thread against one."""
    from distributed import Client, LocalCluster

    import l0graph

    X, _, source = load("mnist", normalize=False)
    n = args.samples if args.samples < len(X) else len(X)
    X = X[np.random.default_rng(0).permutation(len(X))[:n]].astype(np.float32)
    estimator = getattr(l0graph, args.method)
    seconds, codes = {}, {}
    for count in (1, 2, 1, 2):
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(l0graph.warmup)
            started = time.perf_counter()
            model = estimator(10, random_state=0).fit(X, client=client)
            whole = time.perf_counter() - started
            took = sum(value for name, value in model.stage_seconds_.items() if "codes" in name)
        seconds.setdefault(count, []).append(took)
        codes[count] = model.codes_
        print(f"  {count} worker(s): codes {took:.1f} s, fit {whole:.1f} s", flush=True)
    same = all(np.array_equal(getattr(codes[1], part), getattr(codes[2], part)) for part in ("data", "indices"))
    show(
        {
            "X": f"{source}, {n:,} x {X.shape[1]}; {args.method}",
            "codes, 1 worker, s": min(seconds[1]),
            "codes, 2 workers, s": min(seconds[2]),
            "ratio": min(seconds[1]) / min(seconds[2]),
            "same codes": same,
        }
    )


def dictionary(args):
    """What fewer exemplars cost: objective a sample and accuracy."""
    import l0graph
    from l0graph.metrics import clustering_accuracy

    print(f"  {'data':<12}{'method':<10}{'exemplars':>10}{'objective':>11}{'accuracy':>10}{'seconds':>9}")
    for name, n_clusters, sizes in (
        ("coil100", 100, (1000, 2000)),
        ("mnist", 10, (500, 1000, 2000)),
        ("subspaces", 50, (500, 1000, 2000)),
    ):
        if args.data and name != args.data:
            continue
        if name == "subspaces":
            with tempfile.TemporaryDirectory() as folder:
                y = write_subspaces(Path(folder) / "X.npy", args.samples, 30, 50, 5, 0.01)
                X = np.load(Path(folder) / "X.npy")
        else:
            X, y, _ = load(name, normalize=False)
            chosen = np.random.default_rng(0).permutation(len(X))[: args.samples]
            X, y = X[chosen].astype(np.float32), y[chosen]
        for kind in args.method.split(","):
            for size in (*sizes, "all"):
                started = time.perf_counter()
                model = getattr(l0graph, kind)(n_clusters, dictionary=size, random_state=0, n_jobs=args.jobs).fit(X)
                took = time.perf_counter() - started
                accuracy = clustering_accuracy(y, model.labels_)
                row = f"{model.objective_[-1] / len(X):>11.4f}{accuracy:>10.4f}{took:>9.1f}"
                print(f"  {name:<12}{kind:<10}{size:>10}{row}", flush=True)


def candidates(args):
    """Approximate candidates (pynndescent, largest absolute cosines) beside the exact screen."""
    import pynndescent

    import l0graph
    from l0graph._threads import one_blas_thread

    X, _, source = load("mnist", normalize=True)
    X = X[np.random.default_rng(0).permutation(len(X))[: args.samples]].astype(np.float32)
    n, k = len(X), 32
    l0graph.warmup()
    started = time.perf_counter()
    codes = l0graph.l1_codes(X, n_jobs=1).codes
    whole = time.perf_counter() - started
    started = time.perf_counter()
    with one_blas_thread():
        exact = np.concatenate(
            [np.argpartition(-np.abs(X[i : i + 512] @ X.T), k, axis=1)[:, : k + 1] for i in range(0, n, 512)]
        )
    scan = time.perf_counter() - started
    both = np.vstack([X, -X])  # the largest in absolute value
    pynndescent.NNDescent(both[:2000], metric="cosine", n_neighbors=10, n_jobs=1)  # compiled
    started = time.perf_counter()
    index = pynndescent.NNDescent(both, metric="cosine", n_neighbors=k + 1, n_jobs=1, random_state=0)
    built = time.perf_counter() - started
    near = index.neighbor_graph[0][:n] % n
    found = np.mean([len(set(a) & set(b)) / len(set(b)) for a, b in zip(near, exact, strict=True)])
    used = np.mean(
        [
            np.isin(codes.indices[codes.indptr[i] : codes.indptr[i + 1]], near[i]).mean()
            for i in range(n)
            if codes[[i]].nnz
        ]
    )
    show(
        {
            "X": f"{source}, {n:,} x {X.shape[1]}",
            "l1 codes in all, s": whole,
            f"{k} largest cosines of each, exactly, s": scan,
            "approximate index, s": built,
            "of the largest it finds": float(found),
            "of the atoms of l1 codes it has": float(used),
        }
    )


def exponents(args):
    """How the stages grow up to so many samples, and ten times as many over 2,000 exemplars."""
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for title, sizes, parameters in (
            ("over 2,000 exemplars", [10 * args.samples // k for k in (8, 4, 2, 1)], {"dictionary": 2000}),
            ("over all", [args.samples // k for k in (8, 4, 2, 1)], {"dictionary": "all"}),
        ):
            table = {}
            for n in sizes:
                file = Path(folder) / "X.npy"
                write_subspaces(file, n, 100, 20, 5, 0.01)
                common = {"n_clusters": 20, "random_state": 0, "n_jobs": args.jobs, **parameters}
                _, _, peak, seconds, *_ = fit_apart(args.method, file, common, {})
                table[n] = {**seconds, "together": sum(seconds.values()), "peak, MiB": peak}
            print(f"  {args.method} {title}, d = 100; samples: {sizes}")
            for name in table[sizes[-1]]:
                values = [table[n].get(name, 0.0) for n in sizes]
                exponent = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-3)), 1)[0]
                print(f"  {name:<14}" + "".join(f"{v:>10.2f}" for v in values) + f"   n^{exponent:.2f}", flush=True)


SECTIONS = {
    "memory-map": memory_map,
    "million": million,
    "workers": workers,
    "dictionary": dictionary,
    "candidates": candidates,
    "exponents": exponents,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--features", type=int, default=2048)
    parser.add_argument("--dictionary", type=int)
    parser.add_argument("--method", default="L0Graph", help="an estimator; for dictionary several, with commas between")
    parser.add_argument("--data")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", help="where large files go for the time being")
    args = parser.parse_args()
    if args.samples is None:
        fewer = {"workers": 20_000, "candidates": 10_000, "dictionary": 10_000, "exponents": 20_000}
        args.samples = fewer.get(args.section, 1_000_000)
    print(args.section, flush=True)
    SECTIONS[args.section](args)
    print(f"  (peak memory of this process: {peak_mib():.0f} MiB)")


if __name__ == "__main__":
    main()
