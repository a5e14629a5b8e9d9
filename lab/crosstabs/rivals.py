"""Measures what curators whom all trust make of tables of every two columns: MST and AIM, by the package mbi 2.0.0.

pip install mbi==2.0.0 && python rivals.py census.csv census.toml --epsilon 1 --delta 1e-6 --seed 1

Both are written from their papers: MST, McKenna, Miklau, Sheldon 2021; AIM, McKenna, Mullins, Sheldon, Miklau 2022. The
package fits their graphical models. A person's whole record is exchanged for another, as in ours, and the number of people
is public: so a table moves by sqrt 2, and a sum of absolute differences by 2.
"""
import argparse, csv, itertools, json, math, tomllib, warnings

warnings.filterwarnings("ignore")
import jax

jax.config.update("jax_enable_x64", True)
import numpy as np
from mbi import Domain, LinearMeasurement
from mbi.estimation import MirrorDescent
from mbi.junction_tree import hypothetical_model_size

MOVES, SCORE = math.sqrt(2), 2.0  # of one person, under replacement


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


class Curator:
    """Holds people's records, and says what is asked with noise."""

    def __init__(self, rows, domain, rng):
        self.domain, self.rng, self.n = domain, rng, len(rows)
        self.columns = {a: rows[:, i] for i, a in enumerate(domain.attributes)}

    def table(self, clique):
        shape = [self.domain[a] for a in clique]
        return np.bincount(np.ravel_multi_index([self.columns[a] for a in clique], shape), minlength=math.prod(shape)).astype(float)

    def measured(self, clique, sigma):
        t = self.table(clique)
        return LinearMeasurement(t + self.rng.normal(size=t.size) * sigma * MOVES, clique, stddev=sigma * MOVES)

    def chosen(self, scores, epsilon, moves):
        """The exponential mechanism, epsilon^2/8 of zCDP."""
        q = np.array(list(scores.values()))
        return list(scores)[int(np.argmax(0.5 * epsilon / moves * q + self.rng.gumbel(size=q.size)))]

    def fit(self, measured, iterations, warm=None):
        return MirrorDescent().estimate(self.domain, measured, known_total=float(self.n), iters=iterations, warm_start=warm)


def asked(model, clique):
    return np.asarray(model.project(clique).datavector()).ravel()


def mst(c, rho, iterations):
    """A third for columns, a third for choosing a tree of them, a third for its tables."""
    names = c.domain.attributes
    sigma = math.sqrt(3 / (2 * rho))
    measured = [c.measured((a,), sigma * math.sqrt(len(names))) for a in names]
    model = c.fit(measured, iterations)
    scores = {p: float(np.abs(c.table(p) - asked(model, p)).sum()) for p in itertools.combinations(names, 2)}
    epsilon, part = math.sqrt(8 * rho / (3 * (len(names) - 1))), {a: a for a in names}
    tree = []
    while len(tree) < len(names) - 1:
        p = c.chosen({p: s for p, s in scores.items() if part[p[0]] != part[p[1]]}, epsilon, SCORE)
        tree.append(p)
        old, new = part[p[1]], part[p[0]]
        part = {a: new if x == old else x for a, x in part.items()}
    measured += [c.measured(p, sigma * math.sqrt(len(tree))) for p in tree]
    return c.fit(measured, iterations)


def aim(c, rho, iterations, megabytes):
    """Rounds that choose the table that is worst told, and measure it, until all is spent."""
    names = c.domain.attributes
    pairs = list(itertools.combinations(names, 2))
    down = [(a,) for a in names] + pairs
    weight = {q: sum(len(set(q) & set(p)) for p in pairs) for q in down}
    rounds = 16 * len(names)
    sigma, epsilon = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    measured = [c.measured((a,), sigma) for a in names]
    spent = len(names) / (2 * sigma**2)
    model = c.fit(measured, iterations)
    done, last = 0, False
    while not last:
        left = rho - spent
        if left < 2 * (epsilon**2 / 8 + 1 / (2 * sigma**2)):
            last, sigma, epsilon = True, math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        spent += epsilon**2 / 8 + 1 / (2 * sigma**2)
        held, most = [m.clique for m in measured], megabytes * spent / rho
        fits = [q for q in down if q in held or hypothetical_model_size(c.domain, held + [q]) <= most]
        bias = {q: math.sqrt(2 / math.pi) * sigma * MOVES * c.domain.size(q) for q in fits}
        scores = {q: weight[q] * (float(np.abs(c.table(q) - asked(model, q)).sum()) - bias[q]) for q in fits}
        q = c.chosen(scores, epsilon, SCORE * max(weight[q] for q in fits))
        before = asked(model, q)
        measured.append(c.measured(q, sigma))
        model = c.fit(measured, iterations, warm=model)
        done += 1
        if np.abs(asked(model, q) - before).sum() <= sigma * MOVES * math.sqrt(2 / math.pi) * c.domain.size(q):
            sigma, epsilon = sigma / 2, epsilon * 2
    return model, done


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("csv"), p.add_argument("columns")
    p.add_argument("--epsilon", type=float, default=1.0), p.add_argument("--delta", type=float, default=1e-6)
    p.add_argument("--seed", type=int, default=1), p.add_argument("--iterations", type=int, default=1000)
    p.add_argument("--megabytes", type=float, default=80, help="of AIM's model")
    p.add_argument("--ways", default="mst,aim")
    a = p.parse_args()
    with open(a.columns, "rb") as f:
        columns = tomllib.load(f)["columns"]
    with open(a.csv, newline="") as f:
        rows = np.array([[c["values"].index(r[c["name"]]) for c in columns] for r in csv.DictReader(f)])
    domain = Domain([c["name"] for c in columns], [len(c["values"]) for c in columns])
    rho = rho_of(a.epsilon, a.delta)
    for way in a.ways.split(","):
        c = Curator(rows, domain, np.random.default_rng(a.seed))
        model, rounds = (mst(c, rho, a.iterations), 0) if way == "mst" else aim(c, rho, a.iterations, a.megabytes)
        off, squares, cells = 0.0, 0.0, 0
        pairs = list(itertools.combinations(domain.attributes, 2))
        for q in pairs:
            d = asked(model, q) - c.table(q)
            off += np.abs(d).sum() / 2 / c.n / len(pairs)
            squares, cells = squares + (d**2).sum(), cells + d.size
        print(json.dumps({"way": way, "seed": a.seed, "people": c.n, "rho": rho, "rounds": rounds, "off": off, "rmse": math.sqrt(squares / cells)}), flush=True)


if __name__ == "__main__":
    main()
