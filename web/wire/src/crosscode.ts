// Tables of every two columns: a record becomes a vector of length one, from a corner of a simplex for each column's value and the products of two of these for each pair.
import type { Plan } from "./plan";

interface Column {
  readonly name: string;
  readonly values?: readonly string[];
  readonly others?: boolean;
  readonly cuts?: readonly number[];
}

/** How many values a column has. */
const size = (c: Column): number => (c.cuts ? c.cuts.length + 1 : (c.values ?? []).length + (c.others ? 1 : 0));

/** The number of a value among its column's; undefined of what is none of them. */
function place(c: Column, value: string | number | undefined): number | undefined {
  if (c.cuts) {
    return typeof value === "number" && Number.isFinite(value) ? c.cuts.filter((cut) => cut <= value).length : undefined;
  }
  if (typeof value !== "string") {
    return undefined;
  }
  const at = (c.values ?? []).indexOf(value);
  return at >= 0 ? at : c.others ? c.values!.length : undefined;
}

/** Corner i of a simplex of k: a unit vector of k-1 numbers. */
function corner(k: number, i: number): number[] {
  return Array.from({ length: k - 1 }, (_, j) => {
    const scale = Math.sqrt(k / ((k - 1) * (j + 1) * (j + 2)));
    return i > j + 1 ? 0 : i === j + 1 ? -(j + 1) * scale : scale;
  });
}

/** The vector of a record, which has a list of one value for each column; an empty list, or one that is none of them, tells nothing. */
export function tableVector(plan: Plan, answers: readonly (readonly (string | number)[])[]): number[] {
  const { columns, main } = plan.question["table"] as { columns: readonly Column[]; main: number };
  if (answers.length !== columns.length) {
    throw new RangeError(`need answers to ${columns.length} columns`);
  }
  const n = columns.length, one = Math.sqrt(main / n), two = Math.sqrt((1 - main) / (n * (n - 1) / 2));
  const corners = columns.map((c, i) => {
    const at = place(c, answers[i]![0]);
    return at === undefined ? new Array<number>(size(c) - 1).fill(0) : corner(size(c), at);
  });
  const vector = corners.flatMap((c) => c.map((x) => Math.fround(one * x)));
  corners.forEach((a, i) => {
    for (const b of corners.slice(i + 1)) {
      for (const x of a) {
        const scaled = two * x;
        for (const y of b) {
          vector.push(Math.fround(scaled * y) + 0); // no zero has a sign
        }
      }
    }
  });
  return vector;
}
