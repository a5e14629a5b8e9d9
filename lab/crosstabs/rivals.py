"""What curators whom all trust make of the tables of every two columns: MST and AIM, by the package mbi.

    python3 -m venv out/rivals && out/rivals/bin/pip install -r lab/crosstabs/rivals.txt

gets it, and `confetti-lab crosstabs --python out/rivals/bin/python` runs this script beside ours, one process for each way
and seed. It reads one JSON object: way, sizes (of columns), records, epsilon, delta, seed, rounds, megabytes. It answers one.

Both are written from their papers (McKenna, Miklau, Sheldon 2021; McKenna, Mullins, Sheldon, Miklau 2022), and mbi fits
their graphical models. A whole record is exchanged for another, as in ours, and the number of people is public: so a table
moves by sqrt 2, and a sum of absolute differences by 2. Two things are not as published, and make AIM end. It plans for fewer
rounds (16 a column, there), and tables that were measured twice are one measurement of both, so that fewer models are compiled.
"""

import itertools
import json
import math
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    import jax

    jax.config.update("jax_enable_x64", True)
    import numpy as np
    import opt_einsum
    from mbi import Domain, LinearMeasurement
    from mbi.estimation import MirrorDescent
    from mbi.junction_tree import hypothetical_model_size
except ImportError as e:
    print(json.dumps({"missed": f"this Python cannot import {e.name}"}))
    sys.exit()

MOVES, SCORE = math.sqrt(2), 2.0  # of one person


def delta_of(rho, epsilon):
    """Delta of rho-zCDP, the least over orders (Canonne, Kamath, Steinke 2020, proposition 12)."""

    def at(a):
        return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1)

    low, high = 1.0000001, (epsilon + 1) / rho + 2
    for _ in range(300):
        x, y = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, y) if at(x) < at(y) else (x, high)
    return min(1.0, math.exp(at((low + high) / 2)))


def rho_of(epsilon, delta):
    """The largest rho whose zCDP is (epsilon, delta)-DP."""
    low, high = 0.0, epsilon + 1
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (mid, high) if delta_of(mid, epsilon) <= delta else (low, mid)
    return low


class Model:
    """A fitted graphical model, asked for tables: by a product of its potentials that is summed in a cheap order."""

    def __init__(self, fitted, n):
        self.fitted, self.n = fitted, n
        self.terms = []
        for clique in fitted.potentials.cliques:
            x = np.asarray(fitted.potentials.tables[clique].values)
            self.terms += [np.exp(x - x.max()), tuple(clique)]

    def table(self, clique):
        held = {a for term in self.terms[1::2] for a in term}
        alone = [[np.ones(self.fitted.domain[a]), (a,)] for a in self.fitted.domain.attributes if a not in held]
        t = opt_einsum.contract(*self.terms, *itertools.chain(*alone), clique, optimize="greedy").ravel()
        return t * (self.n / t.sum())


class Curator:
    """Holds people's records, and says what is asked with noise."""

    def __init__(self, sizes, records, rng):
        self.names = list(range(len(sizes)))
        self.domain, self.rng, self.n = Domain(self.names, sizes), rng, len(records)
        self.columns = np.array(records).T
        self.said = {}  # by clique: the mean of what was said of it, and its variance

    def table(self, clique):
        shape = [self.domain[a] for a in clique]
        return np.bincount(np.ravel_multi_index([self.columns[a] for a in clique], shape), minlength=math.prod(shape)).astype(float)

    def measure(self, clique, sigma):
        t = self.table(clique)
        mean, variance = t + self.rng.normal(size=t.size) * sigma * MOVES, (sigma * MOVES) ** 2
        if clique in self.said:
            before, own = self.said[clique]
            mean, variance = (before * variance + mean * own) / (own + variance), own * variance / (own + variance)
        self.said[clique] = mean, variance

    def choose(self, scores, epsilon, moves):
        """The exponential mechanism, epsilon^2/8 of zCDP."""
        q = np.array(list(scores.values()))
        return list(scores)[int(np.argmax(0.5 * epsilon / moves * q + self.rng.gumbel(size=q.size)))]

    def fit(self, warm=None, tol=None):
        said = [LinearMeasurement(mean, clique, stddev=math.sqrt(variance)) for clique, (mean, variance) in self.said.items()]
        fitted = MirrorDescent().estimate(self.domain, said, known_total=float(self.n), iters=1000, warm_start=warm, tol=tol)
        return Model(fitted, self.n)


def mst(c, rho, _):
    """A third for columns, a third for choosing a tree of them, a third for its tables."""
    sigma = math.sqrt(3 / (2 * rho))
    for a in c.names:
        c.measure((a,), sigma * math.sqrt(len(c.names)))
    model = c.fit()
    scores = {p: float(np.abs(c.table(p) - model.table(p)).sum()) for p in itertools.combinations(c.names, 2)}
    epsilon, part = math.sqrt(8 * rho / (3 * (len(c.names) - 1))), {a: a for a in c.names}
    for _ in c.names[1:]:
        p = c.choose({p: s for p, s in scores.items() if part[p[0]] != part[p[1]]}, epsilon, SCORE)
        c.measure(p, sigma * math.sqrt(len(c.names) - 1))
        part = {a: part[p[0]] if x == part[p[1]] else x for a, x in part.items()}
    return c.fit(), len(c.names) - 1


def aim(c, rho, asked):
    """Rounds that choose the table that is worst told, and measure it, until all is spent."""
    pairs = list(itertools.combinations(c.names, 2))
    down = [(a,) for a in c.names] + pairs
    weight = {q: sum(len(set(q) & set(p)) for p in pairs) for q in down}
    rounds = asked["rounds"] * len(c.names)
    sigma, epsilon = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    for a in c.names:
        c.measure((a,), sigma)
    spent = len(c.names) / (2 * sigma**2)
    model = c.fit(tol=1e-5)
    done, last = 0, False
    while not last:
        left = rho - spent
        if left < 2 * (epsilon**2 / 8 + 1 / (2 * sigma**2)):
            last, sigma, epsilon = True, math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        spent += epsilon**2 / 8 + 1 / (2 * sigma**2)
        most = asked["megabytes"] * spent / rho
        fits = [q for q in down if q in c.said or hypothetical_model_size(c.domain, list(c.said) + [q]) <= most]
        noise = {q: math.sqrt(2 / math.pi) * sigma * MOVES * c.domain.size(q) for q in fits}
        scores = {q: weight[q] * (float(np.abs(c.table(q) - model.table(q)).sum()) - noise[q]) for q in fits}
        q = c.choose(scores, epsilon, SCORE * max(weight[q] for q in fits))
        before = model.table(q)
        c.measure(q, sigma)
        model = c.fit(warm=model.fitted, tol=None if last else 1e-5)
        done += 1
        print(f"aim: round {done}, {spent / rho:.0%} is spent", file=sys.stderr, flush=True)
        if np.abs(model.table(q) - before).sum() <= noise[q]:
            sigma, epsilon = sigma / 2, epsilon * 2
    return model, done


def main():
    asked = json.load(sys.stdin)
    c = Curator(asked["sizes"], asked["records"], np.random.default_rng(asked["seed"]))
    model, rounds = {"mst": mst, "aim": aim}[asked["way"]](c, rho_of(asked["epsilon"], asked["delta"]), asked)
    off, squares, cells = 0.0, 0.0, 0
    pairs = list(itertools.combinations(c.names, 2))
    for q in pairs:
        d = model.table(q) - c.table(q)
        off += np.abs(d).sum() / 2 / c.n / len(pairs)
        squares, cells = squares + float((d**2).sum()), cells + d.size
    print(json.dumps({"off": off, "rmse": math.sqrt(squares / cells), "rounds": rounds}))


main()
