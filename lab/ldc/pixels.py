#!/usr/bin/env python3
"""Prints how often scikit-learn's regression, with all labels as they are, is right about test records, and phi of its k-means.

    python3 -m venv out/peers && out/peers/bin/pip install -r docs/peers.txt
    out/peers/bin/python lab/ldc/pixels.py DIR mnist fashion-mnist

DIR is the folder of data sets. LDC gives both pixels as they come; here they are divided by 255. Settings are the default
ones, but for 100 clusters as in the paper and seeds 0 to 2. Phi is how unlike the labels of a cluster are (Definition 1).
"""

import gzip
import sys

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression


def read(path, head):
    """Returns the bytes behind the head of a file of images or labels."""
    with gzip.open(path) as f:
        return np.frombuffer(f.read(), np.uint8, offset=head)


def phi(rows, labels, seed):
    """Returns how much the shares of a record's cluster differ from its own label, in the mean."""
    counts = np.zeros((100, 10))
    np.add.at(counts, (KMeans(100, random_state=seed).fit_predict(rows), labels), 1)
    return 2 * (1 - (counts**2).sum(1) @ (1 / counts.sum(1)) / len(labels))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        x, y = ([read(f"{sys.argv[1]}/{name}/{part}-{kind}-ubyte.gz", head) for part in ("train", "t10k")] for kind, head in (("images-idx3", 16), ("labels-idx1", 8)))
        train, test = (rows.reshape(-1, 784) / 255 for rows in x)
        unlike = [phi(np.float32(train), y[0], seed) for seed in range(3)]
        print(f"{name}: {LogisticRegression().fit(train, y[0]).score(test, y[1]):.4f}, phi {np.mean(unlike):.4f} ± {np.std(unlike, ddof=1):.4f}", flush=True)


main()
