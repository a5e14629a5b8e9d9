// Vectors that devices are asked for: features, with a class or a number, in a vector of length at most one.

const f32 = Math.fround;
const length = (x: readonly number[]): number => Math.sqrt(x.reduce((s, v) => s + v * v, 0));

/** Scaled to a length of one, from below; zero of what has no length, or an infinite one. */
export function normalized(x: readonly number[]): number[] {
  const far = length(x);
  return far > 0 && far < Infinity ? x.map((v) => f32(((1 - 2 ** -23) / far) * v)) : x.map(() => 0);
}

/** Centred, times a matrix of a row for each result, and of length one. */
export function whitened(mean: ArrayLike<number>, matrix: ArrayLike<number>, x: readonly number[]): number[] {
  const n = mean.length, centred = x.map((v, i) => f32(v - mean[i]!));
  return normalized(Array.from({ length: matrix.length / n }, (_, row) => f32(centred.reduce((s, v, i) => s + v * matrix[row * n + i]!, 0))));
}

/** The corner that stands for a class: of a regular simplex with a corner for each, of length one. */
function corner(classes: number, own: number): number[] {
  const scale = Math.sqrt(classes / (classes - 1));
  return Array.from({ length: classes - 1 }, (_, i) => (own <= i ? scale / Math.sqrt((i + 1) * (i + 2)) : own === i + 1 ? (-scale * (i + 1)) / Math.sqrt((i + 1) * (i + 2)) : 0));
}

/** Features times the corner of the class: a row for each number of the corner. */
export const classVector = (psi: readonly number[], classes: number, own: number): number[] =>
  corner(classes, own).flatMap((c) => psi.map((x) => f32(f32(c * (1 - 2 ** -22)) * x)));

/** Products of features, those of different ones times the root of 2, then a row for each class, zero but for the own. */
export function momentVector(psi: readonly number[], classes: number, own: number): number[] {
  const a = f32(Math.sqrt(0.65)), d = psi.length;
  const second = psi.flatMap((x, i) => psi.slice(0, i + 1).map((y, j) => (j < i ? f32(f32(f32(a * f32(Math.SQRT2)) * x) * y) : f32(f32(a * x) * x))));
  const rows = new Array<number>(classes * (d + 1)).fill(0);
  psi.forEach((x, i) => { rows[own * (d + 1) + i] = f32(f32(Math.sqrt(0.315)) * x); });
  rows[own * (d + 1) + d] = f32(Math.sqrt(0.035));
  return [...second, ...rows];
}

/** Products of u = (a x, b t, c, e), those of different numbers times the root of 2: a^2 = 0.7, b^2 = 0.2, c^2 = 0.1, and e makes the length one. */
export function squareVector(x: readonly number[], target: number): number[] {
  const u = x.map((v) => f32(f32(Math.sqrt(0.7)) * v));
  u.push(f32(Math.sqrt(0.2) * Math.max(-1, Math.min(1, target))), f32(Math.sqrt(0.1)));
  u.push(f32(Math.sqrt(Math.max(0, 1 - u.reduce((s, v) => s + v * v, 0)))));
  return u.flatMap((v, i) => {
    const own = f32(v * (1 - 2 ** -21));
    return u.slice(0, i + 1).map((w, j) => (j < i ? f32(f32(f32(Math.SQRT2) * own) * w) : f32(own * w)));
  });
}

export function softmax(scores: readonly number[]): number[] {
  const most = Math.max(...scores), parts = scores.map((s) => Math.exp(s - most)), sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((p) => p / sum);
}

/** The gradient of the logistic loss, errors times features: a row for each class; the errors are cut to a length of 0.6 and divided by it. weights: a row of classes for each feature. */
export function gradientVector(phi: readonly number[], weights: ArrayLike<number>, classes: number, own: number): number[] {
  const errors = softmax(Array.from({ length: classes }, (_, k) => phi.reduce((s, x, i) => s + x * weights[i * classes + k]!, 0)));
  errors[own]! -= 1;
  const scale = (1 - 2 ** -22) / Math.max(0.6, length(errors));
  return errors.flatMap((e) => phi.map((x) => f32(f32(scale * e) * x)));
}
