"""The report: what is in the file, and how it behaves in a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from l0graph import L0Graph, SpectralGraph, save_model
from l0graph.cli import main
from l0graph.datasets import make_subspaces
from l0graph.report import write_report
from l0graph.report.choice import shown_samples
from l0graph.report.sprites import thumbnails
from methods import ESTIMATORS

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--<script>'&quot;\u2028"


@pytest.fixture(scope="module")
def fitted() -> tuple[L0Graph, np.ndarray, np.ndarray]:
    """Three planes of 8 x 2 images, and one zero sample, which is attached."""
    X, y = make_subspaces(40, n_subspaces=3, dim=2, ambient_dim=16, noise=0.02, random_state=0)
    X, y = np.vstack([X, np.zeros(16)]), np.append(y, 0)
    return L0Graph(3, random_state=0).fit(X), X, y


def content(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_content_says_what_the_fit_says(fitted: tuple[L0Graph, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    estimator, X, y = fitted
    write_report(estimator, tmp_path / "r.html", X, y=y, name="planes")
    said = content(tmp_path / "r.html")
    assert said["shape"] == [121, 16]
    assert said["samples"]["cluster"] == estimator.labels_.tolist()
    assert [cluster["size"] for cluster in said["clusters"]] == np.bincount(estimator.labels_).tolist()
    assert np.flatnonzero(said["samples"]["attached"]).tolist() == [120]
    W = estimator.affinity_matrix_.toarray()
    for i in (0, 50, 119):
        expected = sorted(((-w, j) for j, w in enumerate(W[i]) if w), key=lambda pair: pair)[:8]
        assert [link[0] for link in said["samples"]["links"][i]] == [j for _, j in expected]
        assert np.allclose([link[1] for link in said["samples"]["links"][i]], [-w for w, _ in expected], rtol=5e-3)
    assert ["l0_penalty", "0.5", False] in said["parameters"]
    assert ["n_clusters", "3", True] in said["parameters"]
    assert {stage for stage, _ in said["seconds"]} == set(estimator.stage_seconds_)
    assert [finding[1] for finding in said["findings"]] == ["zero samples"]
    assert said["values"]["rows"][7] == [float(f"{v:.4g}") for v in X[7, :10]]


def test_the_same_fit_makes_the_same_file(fitted: tuple[L0Graph, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(fitted[0], tmp_path / name, fitted[1], image_shape=(8, 2), image_order="F")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("method", [*ESTIMATORS.values(), SpectralGraph])
def test_every_method_has_a_report(method: Any, tmp_path: Path) -> None:
    X, _ = make_subspaces(15, n_subspaces=2, dim=2, ambient_dim=8, noise=0.02, random_state=1)
    write_report(method(2, random_state=0).fit(X), tmp_path / "r.html")
    assert content(tmp_path / "r.html")["method"] == method.__name__


def test_nothing_is_fetched(fitted: tuple[L0Graph, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    write_report(fitted[0], tmp_path / "r.html", name="x")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert re.findall(r"https?://[^\"'\s]*", text) == ["http://www.w3.org/2000/svg"] * text.count("2000/svg")
    assert "default-src 'none'" in text
    assert "innerHTML" not in text


def test_large_fits_are_sampled_alike_each_time() -> None:
    generator = np.random.default_rng(0)
    import scipy.sparse as sp

    A = sp.random_array((5000, 5000), density=1e-3, rng=generator)
    W, clusters = sp.csr_array(A + A.T), generator.integers(0, 7, 5000)
    shown = shown_samples(W, clusters, 600)
    assert len(shown) == 600
    assert (np.diff(shown) > 0).all()
    assert (np.bincount(clusters[shown], minlength=7) > 20).all()
    assert (shown_samples(W, clusters, 600) == shown).all()
    linked = W[shown][:, shown]
    assert (np.diff(linked.indptr) > 0).mean() > 0.6


def test_images_larger_than_thumbnails_are_means() -> None:
    images = np.arange(2 * 64 * 96, dtype=float).reshape(2, 64, 96) / (2 * 64 * 96)
    small = thumbnails(images)
    assert small.shape == (2, 21, 32)
    assert abs(int(small[1, 4, 5]) - 255 * images[1, 12:15, 15:18].mean()) <= 1
    assert thumbnails(np.ones((1, 40, 40, 3))).shape == (1, 20, 20, 3)


def test_wrong_arguments(fitted: tuple[L0Graph, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ids has 3 entries, but the estimator was fitted to 121 samples"):
        write_report(fitted[0], tmp_path / "r.html", ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="image_shape 3 x 3 needs 9 features"):
        write_report(fitted[0], tmp_path / "r.html", image_shape=(3, 3))
    assert list(tmp_path.iterdir()) == []


# The commands


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="l0graph")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    X, y = make_subspaces(20, n_subspaces=2, dim=2, ambient_dim=6, random_state=0)
    rows = [f"{HOSTILE if i == 0 else i},{'ab'[c]}," + ",".join(map(str, x)) for i, (x, c) in enumerate(zip(X, y))]  # noqa: B905
    text = "name,kind,u,v,w,x,y,z\n" + "\n".join(row.replace("\"document.title='owned'\"", "x") for row in rows)
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    return tmp_path / "table.csv"


_COLUMNS = ("--id-column", "name", "--label-column", "kind")


def test_report_command(table: Path, tmp_path: Path) -> None:
    result = run("report", table, "-k", 2, *_COLUMNS, "-o", tmp_path / "r.html", "--seed", 0)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.endswith(f"report:    {tmp_path / 'r.html'}\n")
    said = content(tmp_path / "r.html")
    assert said["name"] == "table.csv"
    assert said["facts"][0][:2] == ["accuracy", "100.0%"]
    assert said["samples"]["ids"][1] == "1"
    assert said["values"]["names"] == ["u", "v", "w", "x", "y", "z"]


def test_cluster_writes_a_report_too(table: Path, tmp_path: Path) -> None:
    outputs = ("-o", tmp_path / "labels.csv", "--save-model", tmp_path / "m.l0graph", "--report", tmp_path / "r.html")
    result = run("cluster", table, "-k", 2, *_COLUMNS, *outputs, "--seed", 0, "--image-size", "3x2")
    assert result.exit_code == 0, result.stderr
    assert content(tmp_path / "r.html")["images"]["height"] == 2
    second = run("report", table, *_COLUMNS, "--model", tmp_path / "m.l0graph", "-o", tmp_path / "s.html")
    assert second.exit_code == 0, second.stderr
    labels = [int(line.rsplit(",", 1)[1]) for line in (tmp_path / "labels.csv").read_text("utf-8").splitlines()[1:]]
    assert content(tmp_path / "s.html")["samples"]["cluster"] == labels
    alone = run("diagnose", "--model", tmp_path / "m.l0graph")
    assert alone.exit_code == 0
    assert alone.stdout.startswith("Nothing speaks against these clusters.")


def test_diagnose_command(table: Path) -> None:
    result = run("diagnose", table, "-k", 2, *_COLUMNS, "--l0-penalty", 30, "--seed", 0)
    assert result.exit_code == 0
    assert result.stdout.startswith("Do not trust these clusters yet")
    assert "problem  fragmented graph" in result.stdout
    assert "try  Denser codes: l0_penalty=15" in result.stdout
    figures = json.loads(run("diagnose", table, "-k", 2, *_COLUMNS, "--seed", 0, "--json").stdout)
    assert figures["findings"] == []
    assert figures["figures"]["cluster_sizes"] == [20, 20]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "T", "-k", 2, *_COLUMNS, "-o", "r.pdf"), ".html"),
        (("report", "T", "-k", 2, *_COLUMNS, "-o", "-"), "ends in .html"),
        (("report", "T", *_COLUMNS, "-o", "r.html"), "-k, or a saved model"),
        (("report", "-k", 2, "-o", "r.html"), "FILE"),
        (("report", "T", "-k", 2, *_COLUMNS, "-o", "r.html", "--image-size", "4x4"), "needs 16 features"),
        (("diagnose", "--model", "M", "-k", 2), "fitted already"),
        (("diagnose", "--model", "T"), "not a model"),
        (("cluster", "T", "-k", 2, *_COLUMNS, "--image-size", "3x2"), "--report"),
        (("cluster", "T", "-k", 2, *_COLUMNS, "--report", "r.html", "--dictionary", 10), "graph of all samples"),
        (("diagnose", "T", "-k", 2, *_COLUMNS, "--dictionary", "auto"), "graph of all samples"),
        (("cluster", "T", "-k", 2, *_COLUMNS, "-o", "a.html", "--report", "a.html"), ""),
    ],
)
def test_refused(
    arguments: tuple[Any, ...], words: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model.l0graph"
    save_model(L0Graph(2, random_state=0).fit(np.eye(6) + 0.1), model)
    result = run(*({"T": table, "M": model}.get(a, a) for a in arguments))
    assert result.exit_code == 2, result.output
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert words in result.stderr
    assert not list(tmp_path.glob("*.html"))


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium with chromedriver on the PATH: Debian's packages chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(options, Service(driver))
    yield session
    session.quit()


@pytest.fixture
def opened(
    browser: Any, fitted: tuple[L0Graph, np.ndarray, np.ndarray], tmp_path: Path
) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a report; no message may be on the console when the test ends."""

    def show(width: int = 1200, scheme: str = "light", **options: Any) -> Any:
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        media = {
            "features": [
                {"name": "prefers-color-scheme", "value": scheme},
                {"name": "prefers-reduced-motion", "value": "reduce"},  # no smooth scrolling to wait for
            ]
        }
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        write_report(fitted[0], tmp_path / "r.html", fitted[1], **({"y": fitted[2]} | options))
        browser.get((tmp_path / "r.html").as_uri())
        return browser

    yield show
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def text(browser: Any, name: str) -> str:
    return browser.execute_script("return document.getElementById(arguments[0]).innerText", name)


def point_at(browser: Any, sample: int) -> None:
    """Move the mouse to where the map has the sample."""
    from selenium.webdriver import ActionChains

    x, y = browser.execute_script(
        "const box = document.getElementById('map').getBoundingClientRect();"
        "const unit = Math.min(box.width, box.height) / 3.3;"
        "const samples = JSON.parse(document.getElementById('data').textContent).samples;"
        "return [unit * samples.x[arguments[0]], -unit * samples.y[arguments[0]]]",
        sample,
    )
    element = browser.find_element("id", "map")
    ActionChains(browser, duration=10).move_to_element_with_offset(element, round(x), round(y)).perform()


def test_pointing_shows_a_sample_and_its_neighbours(opened: Callable[..., Any], fitted: Any) -> None:
    browser = opened(image_shape=(8, 2))
    browser.execute_script("document.getElementById('map').scrollIntoView()")
    point_at(browser, 17)
    shown = text(browser, "detail")
    index = int(re.search(r"sample (\d+)", shown)[1])  # type: ignore[index]
    estimator = fitted[0]
    assert index == 17 or estimator.labels_[index] == estimator.labels_[17]  # one pixel may hold two
    row = estimator.affinity_matrix_[[index]].tocoo()
    strongest = row.coords[1][np.argmax(row.data)]
    assert f"sample {strongest}\n{row.data.max():.2g}" in shown.split("Neighbours")[1]
    assert f"cluster {estimator.labels_[index]}" in shown
    assert browser.execute_script("return document.querySelectorAll('#detail .thumb').length") == 1 + min(8, row.nnz)


def test_filters(opened: Callable[..., Any], fitted: Any) -> None:
    browser, labels = opened(), fitted[0].labels_
    assert text(browser, "count") == "121 of 121 samples"
    browser.find_element("css selector", "#clusters button[data-cluster='1']").click()
    assert text(browser, "count") == f"{(labels == 1).sum()} of 121 samples"
    assert browser.find_element("id", "cluster").get_property("value") == "1"
    members = browser.execute_script(
        "return [...document.querySelectorAll('#members [data-place]')].map(b => +b.dataset.place)"
    )
    assert members == np.flatnonzero(labels == 1).tolist()
    browser.execute_script("document.getElementById('clear').click(); document.getElementById('attached').click()")
    assert text(browser, "count") == "1 of 121 samples"
    browser.execute_script("document.getElementById('clear').click()")
    browser.find_element("id", "find").send_keys("57")
    assert text(browser, "count") == "1 of 121 samples"
    assert "sample 57" in text(browser, "detail")


def test_keys_walk_and_tabs_switch(opened: Callable[..., Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = opened()
    browser.find_element("id", "map").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    first = text(browser, "detail")
    assert first.startswith("sample ")
    browser.find_element("id", "map").send_keys(Keys.ARROW_RIGHT)
    assert text(browser, "detail") != first
    browser.find_element("id", "tab-map").send_keys(Keys.ARROW_RIGHT)
    assert browser.find_element("id", "matrix").is_displayed()
    assert "sorted by cluster" in text(browser, "cell")
    assert browser.execute_script(
        "const canvas = document.getElementById('matrix');"
        "const picture = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        "return picture.data.some((value) => value > 0)"
    )
    browser.find_element("css selector", "#order option[value=input]").click()
    assert "as they came" in text(browser, "cell")


@pytest.mark.parametrize("images", [{}, {"image_shape": (8, 2)}])
def test_no_sideways_scroll_on_a_phone(opened: Callable[..., Any], images: dict[str, Any]) -> None:
    browser = opened(360, "dark", name="a_rather_long_name_of_a_file_without_any_place_to_break" * 3, **images)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    colors = "return getComputedStyle(document.body).backgroundColor"
    dark = browser.execute_script(colors)
    browser.find_element("id", "theme").click()
    assert browser.execute_script(colors) != dark


def test_text_from_data_stays_text(opened: Callable[..., Any], fitted: Any) -> None:
    n = len(fitted[1])
    browser = opened(name=HOSTILE, ids=[HOSTILE] * n, y=[HOSTILE] * n, features=[HOSTILE] * 16)
    browser.find_element("id", "map").send_keys("\ue014")  # arrow right
    assert text(browser, "title").startswith("</script><img src=x onerror=")
    assert HOSTILE[:30] in text(browser, "detail")
    assert browser.title.startswith("</script><img")
    assert browser.execute_script("return document.querySelectorAll('img, iframe, main script').length") == 0
