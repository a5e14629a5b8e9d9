import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHex, toHex } from "../src/bytes";
import { type Circuit, Prio3 } from "../src/prio3";
import { vectors } from "./vectors";

interface Vector {
  ctx: string; length: number; chunk_length: number; max_weight?: number; max_measurement?: number; bits?: number;
  reports: { measurement: number | number[]; nonce: string; rand: string; public_share: string; input_shares: string[] }[];
}

const at = (name: string) => vectors<Vector>(`internal/prio3/testdata/vdaf-20/${name}.json`);

const circuitOf = (name: string, v: Vector): Circuit => {
  if (name.includes("Histogram")) {
    return { kind: "histogram", length: v.length };
  }
  return name.includes("Multihot") ? { kind: "multihot", length: v.length, weight: v.max_weight! } : { kind: "sumvec", length: v.length, max: v.max_measurement! };
};

test("shares are those of the draft's vectors, byte by byte", () => {
  let n = 0;
  for (const name of ["Prio3Histogram_0", "Prio3Histogram_2", "Prio3MultihotCountVec_0", "Prio3MultihotCountVec_2", "Prio3SumVec_0"]) {
    const v = at(name), circuit = circuitOf(name, v);
    const vdaf = new Prio3(circuit, v.chunk_length, fromHex(v.ctx));
    for (const r of v.reports) {
      n++;
      const vector = typeof r.measurement === "number" ? Array.from({ length: v.length }, (_, i) => (i === r.measurement ? 1 : 0)) : r.measurement.map(Number);
      const shares = vdaf.split(vector, fromHex(r.nonce), fromHex(r.rand));
      assert.equal(toHex(shares.public), r.public_share, name);
      assert.deepEqual([toHex(shares.leader), toHex(shares.helper)], r.input_shares, name);
      assert.deepEqual({ public: shares.public.length, leader: shares.leader.length, helper: shares.helper.length }, vdaf.sizes);
      // Another nonce, context or randomness is another report.
      assert.notDeepEqual(vdaf.split(vector, new Uint8Array(16).fill(9), fromHex(r.rand)).public, shares.public);
      assert.notDeepEqual(new Prio3(circuit, v.chunk_length, fromHex(v.ctx + "00")).split(vector, fromHex(r.nonce), fromHex(r.rand)).leader, shares.leader);
      assert.notDeepEqual(vdaf.split(vector, fromHex(r.nonce)).leader, vdaf.split(vector, fromHex(r.nonce)).leader);
    }
  }
  assert.ok(n >= 8);
});

test("vectors that a circuit does not allow, and circuits that are none, are refused", () => {
  const nonce = new Uint8Array(16);
  const bad: [Circuit, number[]][] = [
    [{ kind: "histogram", length: 3 }, [0, 0, 0]], [{ kind: "histogram", length: 3 }, [1, 1, 0]], [{ kind: "histogram", length: 3 }, [1, 0]], [{ kind: "histogram", length: 3 }, [2, -1, 0]],
    [{ kind: "multihot", length: 3, weight: 1 }, [1, 1, 0]], [{ kind: "multihot", length: 3, weight: 2 }, [2, 0, 0]], [{ kind: "sumvec", length: 2, max: 5 }, [6, 0]], [{ kind: "sumvec", length: 2, max: 5 }, [0.5, 0]], [{ kind: "sumvec", length: 2, max: 5 }, [1]],
  ];
  for (const [circuit, vector] of bad) {
    assert.throws(() => new Prio3(circuit, 1, nonce).split(vector, nonce), RangeError, JSON.stringify([circuit, vector]));
  }
  for (const [circuit, chunk] of [[{ kind: "histogram", length: 0 }, 1], [{ kind: "histogram", length: 3 }, 4], [{ kind: "histogram", length: 3 }, 0], [{ kind: "multihot", length: 3, weight: 4 }, 1], [{ kind: "sumvec", length: 3, max: 2 ** 33 }, 1], [{ kind: "sumvec", length: 1 << 22, max: 3 }, 1], [{ kind: "sumvec", length: 3, max: 2, square: 1 }, 1]] as unknown as [Circuit, number][]) {
    assert.throws(() => new Prio3(circuit, chunk, nonce), RangeError);
  }
  assert.throws(() => new Prio3({ kind: "histogram", length: 3 }, 1, nonce).split([1, 0, 0], nonce.subarray(1)), RangeError);
});
