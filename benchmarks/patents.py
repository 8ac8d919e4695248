"""The label trees of WIPO-alpha with the sizes of Seeger (2008), sec. 6.1, and texts drawn at random for them.

The texts themselves are not at hand. A document is a bag of words of unit norm: some of its words come from a Zipf
vocabulary, the others from words of their own that the nodes on the path to its label have, so that documents are
alike as far as their paths agree.
"""

import gzip

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from data import folder
from trees import TreeSplit, grow

# As in the paper: two thirds of the pooled training and test lists are for training.
TRAINING_SHARE = 2 / 3
VOCABULARY = 30000
ZIPF_POWER = 1.0
WORDS_PER_NODE = 120
# Words of a document on average, and how many of them come from the path.
LENGTH, FROM_PATH = 128, 0.19


def read_labels(section: str) -> np.ndarray:
    """Paths of all documents of a section, training and test lists together."""
    with gzip.open(folder() / "wipo_alpha_labels.tsv.gz", "rt", encoding="utf-8") as lines:
        header = next(lines).rstrip("\n").split("\t")
        paths = [line.rstrip("\n").split("\t")[header.index("path")] for line in lines]
    return np.array([path for path in paths if path.startswith(section + "/")])


def draw_split(section: str, seed: int = 0) -> TreeSplit:
    """Two thirds of the documents of a section for training, every class among them, with words drawn for them."""
    random = np.random.default_rng(seed)
    labels = random.permutation(read_labels(section))
    X = draw_words(labels, random)
    # One document of every class comes first: the tree of the paper has all of them.
    _, first = np.unique(labels, return_index=True)
    order = np.concatenate([first, np.setdiff1d(np.arange(len(labels)), first)])
    n_train = int(np.ceil(TRAINING_SHARE * len(labels)))
    train, test = order[:n_train], order[n_train:]
    return grow(f"WIPO-alpha {section}", "linear", (X[train], labels[train]), (X[test], labels[test]))


def draw_words(labels: np.ndarray, random: np.random.Generator) -> sparse.csr_matrix:
    """Bags of words of unit norm, (n, VOCABULARY)."""
    nodes = _nodes_on_paths(labels)  # (n, depth), places of nodes
    common = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1) ** ZIPF_POWER)
    own = random.integers(VOCABULARY // 100, VOCABULARY, (nodes.max() + 1, WORDS_PER_NODE))
    lengths = random.poisson(LENGTH, len(labels))
    document = np.repeat(np.arange(len(labels)), lengths)
    n_words = len(document)
    words = np.searchsorted(common, common[-1] * random.random(n_words))
    from_path = random.random(n_words) < FROM_PATH
    level = random.integers(nodes.shape[1], size=n_words)
    # Of a node's words the first are the most usual ones.
    place = (WORDS_PER_NODE * random.random(n_words) ** 2).astype(int)
    topical = own[nodes[document, level], place]
    words = np.where(from_path, topical, words)
    counts = sparse.coo_matrix((np.ones(n_words), (document, words)), shape=(len(labels), VOCABULARY)).tocsr()
    return normalize(counts)


def _nodes_on_paths(labels: np.ndarray) -> np.ndarray:
    """Numbers of the nodes below the section on the path to each label, (n, depth)."""
    columns = []
    for depth in range(2, labels[0].count("/") + 2):
        columns.append(["/".join(label.split("/")[:depth]) for label in labels.tolist()])
    _, numbers = np.unique(np.array(columns), return_inverse=True)
    return numbers.reshape(len(columns), -1).T
