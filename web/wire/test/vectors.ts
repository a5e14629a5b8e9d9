import { readFileSync } from "node:fs";

const root = new URL("../../../../", import.meta.url); // from dist/test

/** The bytes of a file of the tree. */
export const file = (path: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(new URL(path, root)));

/** Golden vectors of the tree. */
export const vectors = <T>(path: string): T => JSON.parse(new TextDecoder().decode(file(path))) as T;
