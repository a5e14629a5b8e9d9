// The worker of index.js.
const ready = (async () => {
  await import(new URL("wasm_exec.js", import.meta.url).href); // sets globalThis.Go
  const go = new globalThis.Go();
  const module = await WebAssembly.compileStreaming(fetch(new URL("confetti-studio.wasm", import.meta.url)));
  void go.run(await WebAssembly.instantiate(module, go.importObject)); // until the worker ends
  return globalThis.confettiStudio;
})();

self.onmessage = async ({ data: { id, call, args } }) => {
  try {
    const functions = await ready;
    self.postMessage({ id, ...JSON.parse(functions[call](...args)) });
  } catch (error) {
    self.postMessage({ id, error: error.message ?? String(error) });
  }
};
