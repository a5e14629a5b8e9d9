"""Writes inputs.json: maps of texts and of rows of a table as files have them, and what they make of inputs. It shares no code
with the package and follows the documentation of packages inputs, lsa, cosines and whiten. Standard library only:
python3 inputs.py > inputs.json"""
import base64, json, math, re, struct, sys


def singles(numbers):
    return base64.b64encode(struct.pack("<%df" % len(numbers), *numbers)).decode()


def unit(v):
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v] if length else v


def singular(w):
    if w.endswith("ies") and not w.endswith(("eies", "aies")):
        return w[:-3] + "y"
    if w.endswith("es") and not w.endswith(("aes", "ees", "oes")):
        return w[:-1]
    return w[:-1] if w.endswith("s") and not w.endswith(("us", "ss")) else w


def whitened(v, maps, cut):
    for at, (mean, matrix) in enumerate(maps):
        v = [sum(a * (x - m) for a, x, m in zip(row, v, mean)) for row in matrix]
        length = math.sqrt(sum(x * x for x in v))
        v = [x / max(cut, length) for x in v] if cut and at == len(maps) - 1 else unit(v)
    return v


def of_text(text):
    words = [singular(w) for w in re.findall(r"[^\W_]+", text.lower()) if 2 <= len(w.encode()) <= 64]
    words += [a + " " + b for a, b in zip(words, words[1:])]
    times = [words.count(w) for w in WORDS]
    row = unit([(1 + math.log(t)) * weight if t else 0 for t, weight in zip(times, WEIGHTS)])
    return unit([sum(r * d[k] for r, d in zip(row, DIRECTIONS)) for k in range(3)])


def of_row(row):
    return [max(-4, min(4, (x - c["middle"]) / c["scale"])) for x, c in zip(row, COLUMNS)]


def beside(x):
    return x + [math.sqrt(2) * math.cos(sum(w * v for w, v in zip(d, x)) + p) for d, p in zip(COSINES, PHASES)]


def form(maps, cut, **what):
    what["maps"] = [{"mean": singles(mean), "matrix": singles(sum(matrix, []))} for mean, matrix in maps]
    return what | ({"cut": cut} if cut else {})


# All numbers are exact in single precision.
WORDS, WEIGHTS = ["company", "oil", "oil price", "price"], [1.5, 1.25, 2, 1.75]
DIRECTIONS = [[0.5, -0.25, 0.75], [-1, 0.5, 0.125], [0.25, 0.75, -0.5], [0.5, 1, 0.25]]
COLUMNS = [{"name": "age", "middle": 40.5, "scale": 12.5}, {"name": "spend", "middle": -3, "scale": 0.75}]
COSINES, PHASES = [[0.5, -1.25], [2, 0.75]], [0.25, 3.5]
FIRST = ([0.125, -0.25, 0.5], [[1, 0.5, -0.25], [0, 2, 0.75]])
SECOND = ([0.25, -0.5], [[0.5, 1.5], [-1, 0.25], [2, 0.125]])
WIDE = ([0.125, 0.5, -0.25, 0.75], [[1, -0.5, 0.25, 2], [0.5, 0.75, -1, 0.25]])

cases = []


def case(f, maps, cut, **given):
    x = of_text(given["Text"]) if "text" in f else of_row(given["Numbers"])
    cases.append({"Form": f, "Features": whitened(beside(x) if "cosines" in f else x, maps, cut)} | given)


texts = {"words": WORDS, "weights": singles(WEIGHTS), "directions": singles(sum(DIRECTIONS, [])), "singular": True}
for maps in [], [FIRST], [FIRST, SECOND]:
    for text in "Oil prices! The companies' OIL", "Price: 3 glasses of oils", "nothing here":
        case(form(maps, 0, text=texts) if maps else {"text": texts}, maps, 0, Text=text)
for maps, cut in ([], 0), ([SECOND], 0), ([SECOND], 3.5), ([SECOND, FIRST], 0.5):
    for row in [42.25, -2.5], [25, -3.25], [1e6, 0]:
        case(form(maps, cut, columns=COLUMNS) if maps else {"columns": COLUMNS}, maps, cut, Numbers=row)
for cut in 0, 2.5:
    for row in [42.25, -2.5], [25, 7]:
        case(form([WIDE], cut, columns=COLUMNS, cosines={"directions": singles(sum(COSINES, [])), "phases": singles(PHASES)}), [WIDE], cut, Numbers=row)
json.dump(cases, sys.stdout)
