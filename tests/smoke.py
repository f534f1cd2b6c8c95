"""A new user's first minutes, with the package as installed and nothing else: run by ``make smoke``, not by pytest.

    python smoke.py README.md

in an empty directory: the README's example, then the command on a table, then new samples.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np


def run(*arguments):
    command = [str(Path(sys.executable).with_name("l0graph")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


readme = Path(sys.argv[1]).read_text(encoding="utf-8")
example = re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)
names = {}
exec(example, names)
assert names["labels"].shape == (1797,)

import l0graph  # noqa: E402

here = Path(l0graph.__file__).parent
assert (here / "py.typed").is_file()
assert "site-packages" in here.parts, here

from l0graph.datasets import make_subspaces  # noqa: E402

X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
header = ",".join([*(f"x{i}" for i in range(8)), "kind"])
lines = [",".join([*map(repr, row), f"kind {kind}"]) for row, kind in zip(X.tolist(), y.tolist(), strict=True)]
Path("points.csv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")
result = json.loads(
    run("cluster", "points.csv", "-k", 3, "--label-column", "kind", "--seed", 0, "--json", "--save-model", "m.l0graph")
)
assert result["accuracy"] > 0.95, result
predicted = run("predict", "m.l0graph", "points.csv", "--label-column", "kind", "-q")
assert [line.split(",")[1] for line in predicted.splitlines()[1:]] == [str(label) for label in result["labels"]]
assert l0graph.__version__ in run("--version")
assert np.array_equal(l0graph.load_model("m.l0graph").labels_, result["labels"])
print(f"l0graph {l0graph.__version__} from {sys.argv[2]}: works")  # noqa: T201
