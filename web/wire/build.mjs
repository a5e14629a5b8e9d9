// Builds dist: the module, its types and, with --tests, the tests. Types are checked first.
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const tests = process.argv.includes("--tests");
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");

rmSync(join(here, "dist"), { recursive: true, force: true });
const types = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--rootDir", "src", "--outDir", "dist"];
const check = tests ? ["tsconfig.json"] : ["tsconfig.src.json", ...types];
execFileSync(process.execPath, [tsc, "--project", ...check], { cwd: here, stdio: "inherit" });

const common = { bundle: true, format: "esm", target: "es2022", logLevel: "warning", absWorkingDir: here };
await build({ ...common, platform: "neutral", packages: "external", entryPoints: ["src/index.ts"], outfile: "dist/index.js" });
if (tests) {
  const files = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, platform: "node", packages: "external", entryPoints: files.map((name) => join("test", name)), outdir: "dist/test" });
}
