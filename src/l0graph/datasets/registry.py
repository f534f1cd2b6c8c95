"""The data sets of the paper: what each one is, where it can be had, and how to tell that it is the right one.

To add a set: one row here. Its checksum is in the warning that `load` gives for contents it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class DataSet:
    """One set: its shape, its names, its versions."""

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    about: str
    source: str
    """Where it is given out, for a person."""
    terms: str
    file_names: tuple[str, ...]
    """Names without endings under which people keep it, in small letters and digits alone."""
    versions: dict[str, str]
    """Checksums of contents that are known, and what each is."""
    image_shape: tuple[int, int] | None = None
    column_major: bool = False
    grey_levels: bool = False
    """Whether values are whole grey levels 0..255; files that scale them to 0..1 are scaled back."""
    classes: tuple[tuple[str, ...], ...] = field(default=())
    """For text labels, the spellings of each class, in the order of the numbers they get."""
    openml_id: int | None = None
    idx: bool = False
    """Whether it is kept in MNIST's own format."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.n_samples, self.n_features


_UCI = "UCI Machine Learning Repository (archive.ics.uci.edu)"
_COIL = "Columbia University Image Library (www.cs.columbia.edu/CAVE/software/softlib/{}.php)"
_YALE = "Extended Yale Face Database B (vision.ucsd.edu), or the .mat files of D. Cai (www.cad.zju.edu.cn/home/dengcai)"
_YALE_TERMS = "free for research; cite Georghiades et al. 2001 and Lee et al. 2005"
_SHEFFIELD = "Sheffield (formerly UMIST) Face Database, University of Sheffield"
_RESEARCH = "given out for research; cite"

_ROWS = (
    DataSet(
        name="ionosphere",
        title="Ionosphere",
        n_samples=351,
        n_features=34,
        n_classes=2,
        about="Radar returns from the ionosphere, good or bad.",
        source=f"{_UCI}, ionosphere.data",
        terms="listed by UCI as CC BY 4.0",
        file_names=("ionosphere", "dataset59ionosphere"),
        classes=(("g", "good", "0"), ("b", "bad", "1")),
        openml_id=59,
        versions={
            "277b33d35a82c6102b12638d984e346db0e034fa43c2a0f484e47830df5eac33": "UCI",
        },
    ),
    DataSet(
        name="heart",
        title="Heart (Statlog)",
        n_samples=270,
        n_features=13,
        n_classes=2,
        about="Clinical measurements of patients with and without heart disease, unscaled.",
        source=f"{_UCI}, Statlog (Heart), heart.dat",
        terms="listed by UCI as CC BY 4.0",
        file_names=("heart", "heartstatlog", "statlogheart", "dataset53heartstatlog"),
        classes=(("absent", "1", "0"), ("present", "2")),
        openml_id=53,
        versions={
            "c649e022818ef09100c865267f23577786c55028df150d2ec536e9052af03698": "UCI, unscaled",
        },
    ),
    DataSet(
        name="mnist",
        title="MNIST",
        n_samples=70000,
        n_features=784,
        n_classes=10,
        about="Handwritten digits; 60,000 images for training, then 10,000 for testing.",
        source="MNIST database (yann.lecun.com/exdb/mnist): train- and t10k-images-idx3-ubyte, -labels-idx1-ubyte",
        terms="commonly given as CC BY-SA 3.0",
        file_names=("mnist", "mnist784"),
        image_shape=(28, 28),
        grey_levels=True,
        openml_id=554,
        idx=True,
        versions={
            "6153a4959c65074fddbdd3f65e91fbce343f55c514609083d1140c734f4a02ba": "original, train then test",
        },
    ),
    DataSet(
        name="coil20",
        title="COIL-20",
        n_samples=1440,
        n_features=1024,
        n_classes=20,
        about="Objects on a turntable, 72 views each, background removed.",
        source=_COIL.format("coil-20") + ", processed images, or COIL20.mat of D. Cai",
        terms=f"{_RESEARCH} Nene, Nayar and Murase 1996",
        file_names=("coil20", "coil20proc"),
        image_shape=(32, 32),
        column_major=True,
        versions={
            "94badd4391ddfa4f874da72108e2577ea3195d30366175bf8d94c0d7c74de893": "means of 4 x 4 pixels, as D. Cai's"
        },
    ),
    DataSet(
        name="coil100",
        title="COIL-100",
        n_samples=7200,
        n_features=1024,
        n_classes=100,
        about="Objects on a turntable, 72 views each, in grey.",
        source=_COIL.format("coil-100") + ", or COIL100.mat of D. Cai",
        terms=f"{_RESEARCH} Nene, Nayar and Murase 1996",
        file_names=("coil100",),
        image_shape=(32, 32),
        grey_levels=True,
        versions={
            "681a31be9d857f8b9981f64b34b3528aa6e02bc7a7cc7537463c8aff765c5ccc": "rounded grey of 32 x 32 colour images"
        },
    ),
    DataSet(
        name="yaleb_32x32",
        title="Extended Yale B, 32 x 32",
        n_samples=2414,
        n_features=1024,
        n_classes=38,
        about="Frontal faces of 38 people under 59 to 64 illuminations each.",
        source=f"{_YALE}, YaleB_32x32.mat",
        terms=_YALE_TERMS,
        file_names=("yaleb32x32", "yaleb", "extendedyaleb", "yaleb32x32ori", "croppedyale"),
        image_shape=(32, 32),
        column_major=True,
        grey_levels=True,
        versions={
            "8e6bfefecdf7ad6cdc2860de0265d1cc2e683c568ed588e104ee506f6c33556a": "D. Cai's",
        },
    ),
    DataSet(
        name="yaleb_48x42",
        title="Extended Yale B, 48 x 42",
        n_samples=2414,
        n_features=2016,
        n_classes=38,
        about="Frontal faces of 38 people under 59 to 64 illuminations each.",
        source=f"{_YALE}, or ExtendedYaleB.mat of the code of SSC-OMP",
        terms=_YALE_TERMS,
        file_names=("yaleb48x42", "extendedyaleb", "yaleb", "croppedyale"),
        image_shape=(48, 42),
        column_major=True,
        grey_levels=True,
        versions={
            "3be7287fd3db39d35a8b6fc6af65d15b234f2f944fa1b826c7f66114be96945b": "that of SSC-OMP",
        },
    ),
    DataSet(
        name="umist",
        title="UMIST",
        n_samples=575,
        n_features=1024,
        n_classes=20,
        about="Faces of 20 people in poses from profile to frontal, reduced to 32 x 32.",
        source=f"{_SHEFFIELD}, or UMIST.mat with images of 32 x 32",
        terms=f"{_RESEARCH} Graham and Allinson 1998",
        file_names=("umist", "umist32x32", "umistcropped"),
        image_shape=(32, 32),
        column_major=True,
        grey_levels=True,
        versions={
            "3a8bce75d963e093b53340a7f6470e525fa485ab204b57c372cce2bd443ace12": "32 x 32",
        },
    ),
    DataSet(
        name="umist_28x23",
        title="UMIST, 28 x 23",
        n_samples=575,
        n_features=644,
        n_classes=20,
        about="Faces of 20 people in poses from profile to frontal, a quarter of their size.",
        source=f"{_SHEFFIELD}, or umist.mat with images of 28 x 23",
        terms=f"{_RESEARCH} Graham and Allinson 1998",
        file_names=("umist28x23", "umist", "umistcropped"),
        image_shape=(28, 23),
        column_major=True,
        grey_levels=True,
        versions={
            "97916b26a274af40a0e0a12811ffbf05206451acc694a120017b4ca0113d5cb0": "a quarter of 112 x 92",
        },
    ),
)

DATA_SETS = {row.name: row for row in _ROWS}
ALIASES = {"yaleb": "yaleb_32x32", "umist_32x32": "umist"}
