// Hashing of cells: which column of a sketch's row a value falls into, and which symbol a cell has under a function of local hashing.
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

/** The symbol, of so many, of a cell under a function of local hashing. */
export function localHash(seed: Uint8Array, fn: number, symbols: number, cell: number): number {
  const stream = new Stream(seed, `local-hash/${fn}`);
  const [a, b, c] = [0, 1, 2].map(() => (stream.word() >> 3n) % prime) as [bigint, bigint, bigint];
  const x = BigInt(cell);
  return Number((((a + x * (b + x * c)) % prime) * BigInt(symbols)) >> 61n);
}
