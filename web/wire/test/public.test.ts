import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHex } from "../src/bytes";
import { type Axis, cellsOf, type Domain } from "../src/domain";
import { features, type Kernel, UnfitError } from "../src/features";
import { domainOf } from "../src/histogram";
import type { Plan } from "../src/plan";
import { localHash, sketchCell, sketchRows } from "../src/sketch";
import { Stream } from "../src/stream";
import { vectors } from "./vectors";

interface Case {
  kernel: string; dimension: number; repetitions: number; bandwidth?: number; radius?: number; buckets?: number; clip?: number;
  normalize: boolean; seed: string; x: number[]; refused: boolean; features?: number[];
}
interface Vectors { tolerance: number; streams?: { seed: string; label: string; words: string[]; uniforms: number[]; normals: number[]; signs: number[] }[]; cases: Case[] }

const near = (got: readonly number[], want: readonly number[], tolerance: number, what: string) => {
  assert.equal(got.length, want.length, what);
  got.forEach((g, i) => assert.ok(Math.abs(g - want[i]!) <= tolerance, `${what}: ${g} is ${want[i]}`));
};

for (const name of ["features", "paired", "projected", "rotated", "hashed"]) {
  test(`${name} of fixed values are the golden ones`, () => {
    const v = vectors<Vectors>(`internal/dp/encode/testdata/vectors/v1/${name}.json`);
    for (const s of v.streams ?? []) {
      const fresh = () => new Stream(fromHex(s.seed), s.label);
      const words = fresh();
      assert.deepEqual(s.words.map(() => words.word().toString(16).padStart(16, "0")), s.words);
      const uniforms = fresh();
      assert.deepEqual(s.uniforms.map(() => uniforms.uniform()), s.uniforms);
      near(fresh().normals(s.normals.length), s.normals, 1e-12, s.label);
      assert.deepEqual(fresh().signs(s.signs.length), s.signs);
    }
    let refused = 0;
    for (const [i, c] of v.cases.entries()) {
      const { kernel, x, refused: must, features: want, seed, ...rest } = c;
      const k: Kernel = { ...rest, name: kernel, seed: fromHex(seed) };
      if (must === true) {
        refused++;
        assert.throws(() => features(k, x), UnfitError, `case ${i}`);
      } else {
        near(features(k, x), want!, v.tolerance, `case ${i}, ${kernel}`);
      }
    }
    assert.ok(v.cases.length > refused && v.cases.length >= 4);
  });
}

test("rows of sketches are the golden ones", () => {
  const v = vectors<{ cases: { name: string; hashes: number; width: number; seed: string; refused: boolean; coefficients: string[][]; values: number[]; channels: number[][] }[] }>("internal/dp/sketch/testdata/vectors/v1/sketch.json");
  let compared = 0;
  for (const c of v.cases.filter((c) => c.refused !== true)) {
    const rows = sketchRows(fromHex(c.seed), c.hashes);
    const columns = c.name === "count" ? 2 * c.width : c.width;
    [0, Math.min(1, c.hashes - 1), c.hashes - 1].forEach((row, i) => {
      assert.deepEqual(rows[row]!.map((a) => a.toString(16).padStart(16, "0")), c.coefficients[i]);
      assert.deepEqual(c.values.map((value) => row * columns + sketchCell(rows[row]!, columns, value)), c.channels[i]);
      compared++;
    });
  }
  assert.ok(compared >= 6);
});

interface CellCase {
  kind: Domain["kind"]; names?: string[]; numbers?: number; most?: number; others: boolean; axes?: { Low: number; High: number; Cells: number }[];
  text?: string[]; point?: string[]; refused: boolean; cells?: number[];
}

test("values are in the golden cells", () => {
  const v = vectors<{ cases: CellCase[] }>("internal/dp/encode/testdata/vectors/v1/cells.json");
  const numbers: Record<string, number> = { "+Inf": Infinity, "-Inf": -Infinity, NaN: NaN };
  for (const [i, c] of v.cases.entries()) {
    const [x, y] = (c.axes ?? []).map((a): Axis => ({ low: a.Low, high: a.High, cells: a.Cells }));
    const values = c.numbers ?? c.names ?? [];
    const domain = { kind: c.kind, others: c.others, values, most: c.most, axis: x, axes: [x, y] } as unknown as Domain;
    const value = c.point?.map((p) => numbers[p] ?? Number(p)) ?? c.text ?? [];
    if (c.refused) {
      assert.throws(() => cellsOf(domain, value), UnfitError, `case ${i}`);
    } else {
      assert.deepEqual(cellsOf(domain, value), c.cells ?? [], `case ${i}: ${c.kind} of ${value}`);
    }
  }
  assert.ok(v.cases.length > 50);
});

test("a kind of attribute that ended is refused by its name", () => {
  const plan = (kind: string) => ({ question: { kind: "histogram", histogram: { attributes: [{ name: "word", kind, values: ["a", "b"], x: {}, y: {} }] } } }) as unknown as Plan;
  assert.throws(() => domainOf(plan("prefixes"), 0), /prefixes ended with plan version 4: use strings/);
  assert.throws(() => domainOf(plan("suffixes"), 0), /attributes of kind suffixes are not known here/);
  assert.equal(domainOf(plan("categories"), 0).kind, "categories");
});

test("symbols of local hashing are the golden ones", () => {
  const { cases } = vectors<{ cases: { seed: string; symbols: number; function: number; cells: number[]; hashes: number[] }[] }>("internal/dp/randomize/testdata/vectors/v1/local_hash.json");
  for (const c of cases) {
    assert.deepEqual(c.cells.map((x) => localHash(fromHex(c.seed), c.function, c.symbols, x)), c.hashes, `function ${c.function} to ${c.symbols}`);
  }
  assert.ok(cases.length >= 16);
});
