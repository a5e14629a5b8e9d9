import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Bytes of the whole package with its libraries, bundled, minified and gzipped. */
const most = 72_000;

test("a page carries little", async (t) => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../index.js", import.meta.url))], bundle: true, minify: true, format: "esm", target: "es2022", platform: "browser", write: false, logLevel: "error",
  });
  const code = outputFiles[0]!.contents;
  const size = gzipSync(code, { level: 9 }).length;
  t.diagnostic(`${code.length} bytes, ${size} gzipped`);
  assert.ok(size <= most, `${size} bytes gzipped; the most is ${most}`);
});
