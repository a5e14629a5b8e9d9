// Sketches of histograms: which column of a row a value falls into.
import { Stream } from "./stream";

const prime = (1n << 61n) - 1n;

/** The rows of a sketch, four numbers each, from its seed. */
export function sketchRows(seed: Uint8Array, rows: number): bigint[][] {
  const stream = new Stream(seed, "sketch/rows");
  const draw = (): bigint => {
    for (;;) {
      const word = stream.word() >> 3n;
      if (word !== prime) {
        return word;
      }
    }
  };
  return Array.from({ length: rows }, () => [draw(), draw(), draw(), draw()]);
}

/** The cell, of so many in a row, of a value of 32 bits. */
export function sketchCell(row: readonly bigint[], cells: number, value: number): number {
  const v = BigInt(value);
  const hash = (row[0]! + v * (row[1]! + v * (row[2]! + v * row[3]!))) % prime;
  return Number((hash * BigInt(cells)) >> 61n);
}
