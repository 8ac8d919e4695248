"""Files that are no models, damaged, or made to do harm: refused with a sentence, and nothing in them is run."""

import copy
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from logikern.model import persistence
from tests.estimators.samples import fixed
from tests.model.forgery import (
    PARTS,
    SPECIES,
    X,
    archive_of,
    array_node,
    cycle,
    foreign,
    nested_list,
    nested_nodes,
    node,
    npy,
    overlapping,
    record,
    sequence,
    sparse_points,
    value,
    with_array,
    with_attribute,
    with_header,
    with_root,
)

HARM = "os.system('touch harm')"


class Harm:
    def __reduce__(self):
        return os.system, ("touch harm",)


MODEL = json.loads(PARTS["schema.json"])
HOSTILE = {
    "empty": (b"", "empty, truncated"),
    "text": (b"kernel = gaussian\n", "of another kind"),
    "pickle": (pickle.dumps(Harm()), "of another kind"),
    "cut in half": (archive_of(PARTS)[:5000], "truncated"),
    "last byte missing": (archive_of(PARTS)[:-1], ""),
    "bytes flipped": (archive_of(PARTS).replace(b"Gaussian", b"Gaussiax"), "Bad CRC-32"),
    "another archive": (archive_of({"readme.txt": "hello"}), "not of a logikern model"),
    "skops of another model": (skops.io.dumps(LogisticRegression()), "not of a logikern model"),
    "header alone": (archive_of({"logikern.json": PARTS["logikern.json"]}), "no item named 'schema.json'"),
    "header is no json": (archive_of({**PARTS, "logikern.json": "{"}), "not a model file"),
    "header is a list": (archive_of({**PARTS, "logikern.json": "[1]"}), "its format is None"),
    "format of the future": (
        with_header(format=99, logikern="9.0"),
        "its format is 99.*Install logikern 9.0, .*or fit",
    ),
    "format of the past": (with_header(format=3, logikern="0.1"), "its format is 3.*Install logikern 0.1, .*or fit"),
    "format without a version": (with_header(format=3, logikern=None), "Install the version of logikern that wrote"),
    "format zero": (with_header(format=0), "its format is 0"),
    "format as text": (with_header(format="1"), "its format is '1'"),
    "schema is no json": (archive_of({**PARTS, "schema.json": "x"}), "not a model file"),
    "schema is a list": (archive_of({**PARTS, "schema.json": "[]"}), "no description"),
    "older protocol": (archive_of({**PARTS, "schema.json": json.dumps({**MODEL, "protocol": 0})}), "no description"),
    "newer protocol": (archive_of({**PARTS, "schema.json": json.dumps({**MODEL, "protocol": 99})}), "protocol 99"),
    "compressed": (archive_of(PARTS, zipfile.ZIP_DEFLATED), "compressed"),
    "bomb": (archive_of({**PARTS, "x": bytes(10**8)}, zipfile.ZIP_DEFLATED), "compressed"),
    "overlapping parts": (overlapping(), "larger than the file"),
    "os.system": (foreign("FunctionNode", "os", "system"), "`os.system`"),
    "eval as a type": (foreign("TypeNode", "builtins", "eval"), "`builtins.eval`"),
    "constructor": (
        foreign("ConstructorFromReduceNode", "builtins", "eval", content=sequence(value(HARM))),
        "`builtins.eval`",
    ),
    "constructor of ours": (
        foreign("ConstructorFromReduceNode", "logikern.kernels.gaussian", "Gaussian", content=sequence(value(1.0))),
        "as ConstructorFromReduceNode",
    ),
    "method of ours": (
        foreign(
            "MethodNode",
            "logikern.estimators.classifier",
            "KernelLogisticClassifier",
            content={"func": "save_model", "obj": copy.deepcopy(MODEL)},
        ),
        "as MethodNode",
    ),
    "partial": (
        foreign(
            "PartialNode",
            "functools",
            "partial",
            content={
                "func": node("FunctionNode", "numpy", "exp"),
                "args": sequence(value(1)),
                "kwds": record(),
                "namespace": value(None),
            },
        ),
        "`functools.partial`",
    ),
    "operator": (
        foreign("OperatorFuncNode", "operator", "methodcaller", attrs=sequence(value("fit"))),
        "`operator.methodcaller`",
    ),
    "command line": (foreign("FunctionNode", "logikern.cli.main", "main"), "`logikern.cli.main.main`"),
    "command line as object": (foreign("ObjectNode", "logikern.cli.main", "main"), "`logikern.cli.main.main`"),
    "user's function as kernel": (
        foreign("ObjectNode", "logikern.kernels.function", "FunctionKernel", content=record(function=value(1))),
        "FunctionKernel",
    ),
    "function of scikit-learn": (
        foreign("FunctionNode", "sklearn.utils._testing", "assert_run_python_script"),
        "assert_run_python_script",
    ),
    "function of scikit-learn as object": (
        foreign("ObjectNode", "sklearn.utils._testing", "assert_run_python_script"),
        "assert_run_python_script",
    ),
    "function of numpy": (foreign("FunctionNode", "numpy", "fromfile"), "numpy.fromfile"),
    "submodule by its path": (foreign("FunctionNode", "numpy.f2py", "main"), "numpy.f2py.main"),
    "module of the future": (foreign("ObjectNode", "sklearn.nothing", "Here", content=record()), "sklearn.nothing"),
    "random generator": (
        foreign(
            "RandomGeneratorNode",
            "numpy.random",
            "seed",
            content={"bit_generator": record(bit_generator=value("seed")), "seed_seq": record()},
        ),
        "as RandomGeneratorNode",
    ),
    "random state of another class": (
        foreign("RandomStateNode", "logikern.kernels.gaussian", "Gaussian", content=record()),
        "as RandomStateNode",
    ),
    "dict of another class": (foreign("DictNode", "os", "environ", content={}, key_types=sequence()), "`os.environ`"),
    "list of another class": (foreign("ListNode", "subprocess", "Popen", content=[value("ls")]), "subprocess.Popen"),
    "unknown loader": (foreign("NewNode", "builtins", "dict"), "as NewNode"),
    "loader of an old protocol": (foreign("TreeNode", "sklearn.tree._tree", "Tree"), "as TreeNode"),
    "void of any size": (
        foreign("NdArrayNode", "numpy", "void", type="numpy", file=array_node("dual_coef_")["file"]),
        "numpy.void",
    ),
    "array of objects": (
        with_array("dual_coef_", pickle.dumps(Harm())),
        "magic string",
    ),
    "pickled array": (with_array("dual_coef_", npy(np.zeros(3), descr="|O")), "has the type"),
    "array larger than its bytes": (with_array("dual_coef_", npy(np.zeros(3), shape=(2**40,))), "has 24 bytes"),
    "array of nothing": (with_array("dual_coef_", npy(np.zeros(0), shape=(2**60,), descr="|V0")), "has the type"),
    "array that is an archive": (with_array("dual_coef_", archive_of({"a.npy": npy(np.zeros(3))})), "magic string"),
    "array that is not there": (foreign("NdArrayNode", "numpy", "ndarray", type="numpy", file="x.npy"), "x.npy"),
    "sparse points out of range": (sparse_points(indices=np.full(120, 9999, np.int32)), "not a model file"),
    "sparse points of objects": (sparse_points(data=np.array([None] * 120)), "has the type"),
    "sparse points of another form": (sparse_points(format=np.array(b"coo")), "not a model file"),
    "sparse bomb": (sparse_points(data=np.zeros(2**26)), "was not read: .* Raise `size_limit` if you trust"),
    "nested beyond the stack": (nested_list(200_000), "not a model file"),
    "nested beyond reason": (nested_nodes(300), "nested more than"),
    "nested in itself": (cycle(), "not a model file"),
    "nested in a value": (
        with_attribute("extra_", node("JsonNode", "builtins", "str", content="[" * 10**5)),
        "not a model file",
    ),
    "identity that is a list": (with_attribute("extra_", {**value(1), "__id__": [1]}), "not a model file"),
    "number instead of a model": (with_root(value(1)), "holds an object of type int"),
    "kernel instead of a model": (with_root(MODEL["content"]["content"]["kernels_"]["content"][0]), "type Gaussian"),
    "scaler instead of a model": (
        with_root(node("ObjectNode", "sklearn.preprocessing._data", "StandardScaler", content=record())),
        "of type StandardScaler",
    ),
    "pipeline of nothing": (
        with_root(node("ObjectNode", "sklearn.pipeline", "Pipeline", content=record(steps=sequence()))),
        "pipeline has no steps",
    ),
    "model without content": (
        with_root(node("ObjectNode", "logikern.estimators.classifier", "KernelLogisticClassifier")),
        "not a model file",
    ),
}


@pytest.mark.filterwarnings("ignore:Trying to unpickle estimator")
@pytest.mark.parametrize("name", HOSTILE)
def test_file_is_refused_and_nothing_is_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, fragment = HOSTILE[name]
    (tmp_path / "model.skops").write_bytes(content)
    unread = r"(?s)`model.skops` (is not a model file that can be|was not) read: "
    with pytest.raises(ValueError, match=unread) as caught:
        persistence.load_model("model.skops")
    assert caught.match(fragment)
    assert os.listdir(tmp_path) == ["model.skops"]


def test_every_cut_of_a_file_is_refused(tmp_path):
    content, path = archive_of(PARTS), tmp_path / "model.skops"
    for length in range(0, len(content), 997):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="is not a model file"):
            persistence.load_model(path)


def test_flipped_bytes_change_nothing_or_are_refused(tmp_path):
    content, path = archive_of(PARTS), tmp_path / "model.skops"
    wanted = fixed().fit(X, SPECIES).predict_proba(X)
    for place in np.random.default_rng(0).integers(len(content), size=100):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            loaded = persistence.load_model(path)
        except ValueError:
            continue
        assert np.array_equal(loaded.predict_proba(X), wanted)


def test_same_array_many_times_counts_each_time(tmp_path):
    path = tmp_path / "model.skops"
    entry = array_node("dual_coef_")
    repeated = [{**entry, "__id__": number} for number in range(1, 50)]
    path.write_bytes(with_attribute("extra_", node("ListNode", "builtins", "list", content=repeated)))
    persistence.load_model(path)
    with pytest.raises(ValueError, match="Raise `size_limit`"):
        persistence.load_model(path, size_limit=20 * len(PARTS[entry["file"]]))


def test_sparse_points_beyond_the_limit_load_when_allowed(tmp_path):
    points = sparse.csr_matrix(np.tile(X, (40, 1)))
    model = fixed("linear").fit(points, np.tile(SPECIES, 40))
    path = tmp_path / "model.skops"
    model.save_model(path)
    with pytest.raises(ValueError, match="Raise `size_limit`"):
        persistence.load_model(path, size_limit=1000)
    assert np.array_equal(persistence.load_model(path, size_limit=1e9).predict(points), model.predict(points))


def test_pipeline_with_another_classifier_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    foreign_model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, SPECIES)
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(foreign_model))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(archive_of({**parts, "logikern.json": PARTS["logikern.json"]}))
    with pytest.raises(ValueError, match="of type LogisticRegression, but a KernelLogisticClassifier, "):
        persistence.load_model(path)


def test_missing_file_and_folder_keep_their_kinds_of_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        persistence.load_model(tmp_path / "nothing.skops")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        persistence.load_model(tmp_path)


def test_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="a device or a pipe"):
        persistence.load_model(tmp_path / "pipe")
