"""How often lines of train.py are right that learned from noisy labels, by way and epsilon.

python3 docs/labels_privatize.py runs confetti (on the PATH) in a new folder, with seeds of its own for made-up tables: what
others train on is one table, and they are tested on another. It needs numpy.
"""
import csv, os, subprocess, sys, tempfile
import numpy as np

CLASSES = ["student", "staff", "guest"]
BY = "likes_sweet,likes_bitter,likes_sour,likes_salty,likes_spicy,likes_rich"
WAYS = {
    "crowds": ["--clusters-by", BY, "--parts", "2"],
    "cluster-rr": ["--clusters-by", BY, "--parts", "2"],
    "uniform-rr": [],
}


def run(*args, folder):
    subprocess.run(["confetti", *args], cwd=folder, check=True, capture_output=True)


def right(folder, test, lines):
    """Returns how often a model of these lines is right of a table."""
    place = {}
    here = os.getcwd()
    os.chdir(folder)
    try:
        exec(lines, place)
        t = place["t"] = list(csv.DictReader(open(test, encoding="utf-8", newline="")))
        exec("\n".join(line for line in lines.split("\n") if line.startswith("x = ")), place)
    finally:
        os.chdir(here)
    said = (place["x"] @ place["model"]).argmax(1)
    return np.mean([CLASSES[k] == r["class"] for k, r in zip(said, t)])


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    dir = tempfile.mkdtemp()
    run("sample", "test.csv", "--seed", "99", folder=dir)
    for epsilon in [0.05, 0.1, 0.25, 0.5, 1.0]:
        for way, flags in WAYS.items():
            got = []
            for seed in range(1, 6):
                table = f"{rows}-{seed}.csv"
                if not os.path.exists(os.path.join(dir, table)):
                    run("sample", table, "--rows", str(rows), "--seed", str(seed), folder=dir)
                out = f"{way}-{epsilon}-{seed}"
                run("labels", "privatize", table, "--label", "class", "--classes", ",".join(CLASSES), "--method", way, *flags,
                    "--drop", "id,drink,snacks,spend,age", "--people", out, "--as-of", "1", "--epsilon", str(epsilon),
                    "--cap-epsilon", "9", "--ledger", os.path.join(dir, out + ".ledger"), "--out", out, folder=dir)
                lines = open(os.path.join(dir, out, "train.py"), encoding="utf-8").read()
                got.append(right(os.path.join(dir, out), os.path.join(dir, "test.csv"), lines))
            print(f"| {way} | {epsilon:g} | {np.mean(got):.4f} ({np.std(got, ddof=1):.4f}) |", flush=True)
    told = lines.replace("labels.csv", os.path.join(dir, f"{rows}-1.csv"))
    for k in CLASSES:
        told = told.replace(f'"weight {k}"', f'"{k}"')
    told = told.replace("float(r[c]) for c in [\"student\"", "float(r[\"class\"] == c) for c in [\"student\"")
    print(f"| told | | {right(dir, os.path.join(dir, 'test.csv'), told):.4f} |")


main()
