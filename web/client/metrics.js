// An app's metrics in a page: calls are written down in the page's database, and confetti.wasm, which has every rule, is
// loaded where a season is drawn, an answer is due or a person agrees. docs/browsers.md has more.
import { Device, DeviceError } from "./index.js";
import { database } from "./store.js";

/** @typedef {import("./store.js").Store} Store */

/**
 * What a program branches on beside Code of index.js; docs/metrics.md has what each says.
 * @typedef {(
 * | "clock-back"
 * | "other-app"
 * | "other-study"
 * | "outside-domain"
 * | "registry"
 * | "rolled-back"
 * | "unknown-metric"
 * | "wrong-type"
 * )} Refusal
 */

/**
 * @typedef {object} StartOptions
 * @property {string} [bearer] Who the respondent is to the token issuer.
 * @property {number} [delay] As of open.
 * @property {import("./index.js").Caps} [caps] As of open.
 * @property {import("./index.js").Operators} [operators] As of open.
 * @property {string} [store] Name of the database, as of open: a ledger and its caps are of one store. Each app of an origin needs one of its own.
 * @property {URL | string} [files] As of open.
 * @property {string} [integrity] As of open.
 * @property {(error: DeviceError) => void} [problem] Is told what fails in the background; it is tried again.
 * @property {Element} [debug] Shows what is kept, how it would be said and what was said. For developers: what it shows is the person's.
 */

/** A time in which calls of some metrics count. @typedef {{season: string, from: string, until: string, metrics: string[]}} Season */
/** What the module says of calls that are written down without it. @typedef {{number: number, registry: string, next?: string, windows: Season[], steps: Season[], arms: Record<string, string>, unshown: string[], fresh?: string[]}} Aside */
/** So many equal calls, one after the other. @typedef {{value: string | number, times: number}} Run */
/** A time in which one metric counts, and the calls that are not written down yet. @typedef {{season: string, from: number, until: number, runs: Run[]}} Window */
/** A step of a sequence. @typedef {{value: string, at: string}} Step */
/** What is written down. @typedef {{number: number, calls: Record<string, Record<string, Run[]>>, steps: Record<string, Step[]>, shown: Record<string, string>, first: Record<string, boolean>}} Counted */

/** What the module keeps, and what is written down for it: client/metrics has both. */
const kept = "metrics", counted = "counted";

const second = 1000, minute = 60 * second, hour = 60 * minute;

/** From so many runs on the module is asked to take them. */
const many = 1000;

/** So many runs of a metric wait at most to be written, for a second; behind them the last one is replaced. */
const most = 10_000;

/**
 * An app that counts what its registry lists.
 * @param {{registry: string, publishers: string[]}} declared As confetti metrics code wrote it.
 */
export const app = (declared) => new Metrics(declared);

/** What an app counts with: each metric is an object whose calls return at once and never throw. */
export class Metrics {
  #declared;
  /** @type {StartOptions} */
  #options = {};
  #started = false;
  #accepted = false; // the module has taken this very registry
  #hash = "";
  /** @type {Promise<Store> | undefined} */
  #store;
  /** @type {Aside | undefined} */
  #aside;
  /** @type {Map<string, Window[]>} */
  #windows = new Map();
  /** @type {Map<string, {from: number, until: number}[]>} */
  #stepping = new Map();
  /** @type {Map<string, Step[]>} */
  #steps = new Map();
  /** @type {Map<string, string>} */
  #shown = new Map(); // when an experiment showed its arm first
  /** @type {Set<string>} */
  #first = new Set(); // experiments that showed their first arm, and had drawn none
  #ready = Promise.resolve(); // once start has read what is kept
  #pending = false;
  #full = false; // so much is written down that the module is to take it
  #rests = 0; // no visit in the background before
  /** @type {Promise<Device> | undefined} */
  #device;
  #idle = 0;
  #timer = 0;
  #busy = false;
  #written = 0; // when it was last begun to write
  /** @type {BroadcastChannel | undefined} */
  #channel;
  /** @type {() => Promise<void>} */
  #stop = async () => {};

  /** @param {{registry: string, publishers: string[]}} declared */
  constructor(declared) {
    this.#declared = declared;
  }

  /**
   * Counts, and answers when a period is over, until what it gives is called. Until the person has agreed nothing is
   * kept. Outside of a browser, and in one that a program drives, it does nothing: each run of a test would be a new
   * person. It loads the module where the registry is another one than before, and fails where that is refused.
   * @param {StartOptions} [options]
   * @returns {Promise<() => Promise<void>>}
   */
  start = async (options = {}) => {
    if (this.#started || typeof indexedDB === "undefined" || typeof Worker === "undefined" || navigator.webdriver) return this.#stop;
    if (!isSecureContext) throw new DeviceError("a page counts where it is served by https, or from this machine", "bad-options");
    this.#started = true;
    this.#options = options;
    this.#store = database(this.#name);
    this.#channel = new BroadcastChannel(`confetti-metrics:${this.#name}`);
    this.#channel.onmessage = () => void this.#background(() => this.#read());
    const hidden = () => void this.#background(() => this.#write());
    document.addEventListener("visibilitychange", hidden);
    this.#stop = async () => {
      if (!this.#started) return;
      clearInterval(this.#timer);
      this.#timer = 0;
      document.removeEventListener("visibilitychange", hidden);
      await this.#background(() => this.#write());
      this.#started = this.#accepted = false;
      this.#lay(undefined);
      this.#channel?.close();
      this.#rest();
      this.#store = undefined;
    };
    try {
      const begun = this.#begin();
      this.#ready = begun.catch(() => {});
      await begun;
    } catch (error) {
      await this.#stop();
      throw error;
    }
    this.#timer = Number(setInterval(() => void this.#tick(), second));
    void this.#tick();
    await this.#background(() => this.#show());
    return this.#stop;
  };

  /** Reads what is kept, and has the module look at a registry that it has not taken. */
  async #begin() {
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode([this.#declared.registry, ...this.#declared.publishers].join("\n"))));
    this.#hash = Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join("");
    await this.#read();
    if (this.#aside && !this.#accepted) {
      await this.#ask("fresh"); // which fails where the registry is refused
      await this.#background(() => this.#visit());
    }
  }

  /**
   * Writes down what the person has said to the list as it is now. False destroys what is kept and what waits; what was
   * drawn and spent stays.
   * @param {boolean} agreed
   */
  consent = async (agreed) => {
    if (!this.#started) return;
    await this.#alone(async () => {
      if (agreed) await this.#write();
      else this.#drop();
      await this.#ask("consent", { agreed, first: [...this.#first] });
      this.#first.clear();
      await this.#background(() => this.#ask("visit"));
    });
  };

  /**
   * What is asked that the person has not agreed to, in words.
   * @returns {Promise<string[]>}
   */
  fresh = async () => {
    if (!this.#started) return [];
    if (this.#aside?.fresh && this.#aside.registry === this.#hash) return this.#aside.fresh;
    return this.#ask("fresh");
  };

  /**
   * Counts by name, for scripts. It fails with "unknown-metric", "wrong-type" or "outside-domain", and loads the
   * module to know.
   * @param {string} name
   * @param {string | number} value
   */
  record = async (name, value) => {
    if (!this.#started) return;
    await this.#alone(async () => {
      await this.#ask("record", { name, value });
      await this.#background(() => this.#ask("visit"));
    });
  };

  /**
   * What is kept, how it would be said, and what was said, in words, for whoever debugs an app. It draws nothing.
   * @returns {Promise<string>}
   */
  shown = async () => {
    if (!this.#started) return "";
    await this.#write();
    return (await this.#ask("show")).words;
  };

  /** @param {string} name */
  counter = (name) => ({ add: (/** @type {number} */ n = 1) => this.#count(name, n) });

  /** @template {string} V @param {string} name */
  category = (name) => ({ set: (/** @type {V} */ value) => this.#count(name, value) });

  /** @param {string} name */
  number = (name) => ({ set: (/** @type {number} */ x) => this.#count(name, x) });

  /** @template {string} V @param {string} name */
  set = (name) => ({ add: (/** @type {V} */ item) => this.#count(name, item) });

  /** @param {string} name */
  string = (name) => ({ set: (/** @type {string} */ text) => this.#count(name, text) });

  /** @template {string} V @param {string} name */
  sequence = (name) => ({ step: (/** @type {V} */ step) => this.#step(name, step) });

  /** @template {string} A @template {string} O @param {string} name @param {NoInfer<A>} first What is shown where nothing is drawn. */
  experiment = (name, first) => ({
    arm: () => this.#arm(name, first),
    outcome: (/** @type {O} */ outcome) => this.#count(name, outcome),
  });

  get #name() {
    return this.#options.store ?? "confetti";
  }

  /**
   * Notes a call, in memory.
   * @param {string} name
   * @param {unknown} value
   */
  #count(name, value) {
    const windows = this.#windows.get(name);
    if (!windows || !(typeof value === "string" || Number.isFinite(value))) return;
    const now = Date.now();
    for (const w of windows) {
      if (now < w.from || now >= w.until) continue;
      add(w.runs, /** @type {string | number} */ (value), 1);
      if (w.runs.length > most) w.runs.splice(-2, 1);
      if (!this.#pending) this.#soon(now);
      return;
    }
  }

  /**
   * Notes a step with its time, in memory.
   * @param {string} name
   * @param {unknown} value
   */
  #step(name, value) {
    const windows = this.#stepping.get(name);
    if (!windows || typeof value !== "string") return;
    const now = Date.now();
    if (!windows.some(({ from, until }) => from <= now && now < until)) return;
    const steps = this.#steps.get(name) ?? [];
    this.#steps.set(name, steps);
    if (steps.length < most) steps.push({ value, at: new Date(now).toISOString() });
    if (!this.#pending) this.#soon(now);
  }

  /**
   * Gives the arm that is shown, and notes that it is.
   * @template {string} A
   * @param {string} name
   * @param {A} first
   * @returns {Promise<A>}
   */
  async #arm(name, first) {
    await this.#ready;
    if (!this.#started) return first;
    const drawn = /** @type {A | undefined} */ (this.#accepted ? this.#aside?.arms[name] : undefined);
    if (drawn === undefined) this.#first.add(name);
    else if (this.#aside?.unshown.includes(name) && !this.#shown.has(name)) this.#shown.set(name, new Date().toISOString());
    if (!this.#pending) this.#soon(Date.now());
    return drawn ?? first;
  }

  /**
   * Has what was called written at once, or within a second of what was written before.
   * @param {number} now
   */
  #soon(now) {
    this.#pending = true;
    if (now - this.#written >= second) void Promise.resolve().then(() => this.#background(() => this.#write()));
  }

  /** Forgets what is not written down. */
  #drop() {
    for (const windows of this.#windows.values()) for (const w of windows) w.runs = [];
    this.#steps.clear();
    this.#shown.clear();
  }

  /** Reads what the module says. What was called stays where it still counts. */
  async #read() {
    const text = await (await this.#store)?.load(kept);
    this.#lay(text && JSON.parse(new TextDecoder().decode(text)).aside);
  }

  /** @param {Aside | undefined} aside */
  #lay(aside) {
    this.#aside = aside;
    this.#accepted ||= aside?.registry === this.#hash;
    /** @type {Map<string, Window[]>} */
    const windows = new Map();
    for (const { season, from, until, metrics } of (this.#accepted && aside?.windows) || []) {
      for (const name of metrics) {
        const runs = this.#windows.get(name)?.find((w) => w.season === season)?.runs ?? [];
        windows.set(name, [...(windows.get(name) ?? []), { season, from: Date.parse(from), until: Date.parse(until), runs }]);
      }
    }
    this.#windows = windows;
    this.#stepping = new Map();
    for (const { from, until, metrics } of (this.#accepted && aside?.steps) || []) {
      for (const name of metrics) this.#stepping.set(name, [...(this.#stepping.get(name) ?? []), { from: Date.parse(from), until: Date.parse(until) }]);
    }
  }

  /** Writes down what was called, beside what other tabs have written, and has the module take it where it is much. */
  async #write() {
    if (!this.#pending || !this.#store) return;
    this.#pending = false;
    this.#written = Date.now();
    const store = await this.#store;
    const unlock = await store.lock();
    /** @type {{name: string, season: string, runs: Run[]}[]} */
    const taken = [];
    /** @type {Map<string, Step[]>} */
    let stepped = new Map();
    try {
      await this.#read();
      const number = this.#aside?.number;
      if (number === undefined) return;
      const text = await store.load(counted);
      /** @type {Counted | undefined} */
      let all = text && JSON.parse(new TextDecoder().decode(text));
      if (all?.number !== number) all = { number, calls: {}, steps: {}, shown: {}, first: {} };
      for (const name of this.#first) all.first[name] = true;
      for (const [name, at] of this.#shown) all.shown[name] ??= at;
      stepped = this.#steps;
      this.#steps = new Map();
      for (const [name, steps] of stepped) {
        if (!this.#stepping.has(name)) continue;
        const before = (all.steps[name] ??= []);
        before.push(...steps);
        this.#full ||= before.length > many;
      }
      for (const [name, windows] of this.#windows) {
        for (const w of windows) {
          const { season, runs } = w;
          if (runs.length === 0) continue;
          const before = ((all.calls[season] ??= {})[name] ??= []);
          for (const { value, times } of runs) add(before, value, times);
          this.#full ||= before.length > many;
          taken.push({ name, season, runs });
          w.runs = [];
        }
      }
      if (taken.length + this.#first.size + this.#shown.size === 0 && ![...stepped.keys()].some((name) => this.#stepping.has(name))) return; // after a no nothing is made
      await store.replace(counted, new TextEncoder().encode(JSON.stringify(all)));
      this.#first.clear();
    } catch (error) {
      this.#pending = true;
      for (const [name, steps] of stepped) this.#steps.set(name, [...steps, ...(this.#steps.get(name) ?? [])]);
      for (const { name, season, runs } of taken) {
        const w = this.#windows.get(name)?.find((w) => w.season === season);
        if (w) w.runs = [...runs, ...w.runs];
      }
      throw error;
    } finally {
      unlock();
    }
  }

  /** Whether the module is needed. Of a registry that another tab has brought that one takes care. */
  #due() {
    const { next } = this.#aside ?? {};
    return this.#aside !== undefined && (this.#full || !this.#accepted || next !== undefined && Date.now() >= Date.parse(next));
  }

  /** Does what is due each second. */
  async #tick() {
    if (this.#busy) return;
    this.#busy = true;
    await this.#background(() => this.#write());
    if (Date.now() >= this.#rests && this.#due()) {
      this.#rests = Date.now() + hour;
      await this.#background(() => this.#visit());
    }
    this.#busy = false;
  }

  /** Has the module do what is due, unless another tab had it do so meanwhile. */
  #visit() {
    return this.#alone(async () => {
      await this.#read();
      if (!this.#due()) return;
      this.#full = false;
      await this.#ask("visit");
    });
  }

  /**
   * Does something while no other tab does, which then read what has changed.
   * @param {() => Promise<void>} f
   */
  async #alone(f) {
    await navigator.locks.request(`confetti-metrics:${this.#name}`, f);
    await this.#read();
    this.#rests = 0;
    this.#channel?.postMessage("changed");
    await this.#background(() => this.#show());
  }

  /**
   * Asks the module, which is loaded for it, and rests a minute after the last question.
   * @param {string} call
   * @param {unknown} [argument]
   * @returns {Promise<any>}
   */
  async #ask(call, argument) {
    clearTimeout(this.#idle);
    this.#device ??= this.#load();
    try {
      const device = await this.#device;
      return await device.ask(call, argument);
    } catch (error) {
      this.#rest();
      throw error;
    } finally {
      this.#idle = Number(setTimeout(() => this.#rest(), minute));
    }
  }

  async #load() {
    const { files, problem, debug, ...rest } = this.#options;
    const device = new Device(new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "confetti" }));
    try {
      await device.ask("count", { ...rest, ...this.#declared, files: new URL("./", files ? new URL(files, location.href) : import.meta.url).href });
    } catch (error) {
      device.close();
      throw error;
    }
    return device;
  }

  /** Lets the module go. */
  #rest() {
    clearTimeout(this.#idle);
    this.#device?.then((device) => device.close(), () => {});
    this.#device = undefined;
  }

  /** Shows what is kept where a developer has asked for it. */
  async #show() {
    if (this.#options.debug && this.#started) this.#options.debug.textContent = await this.shown();
  }

  /** @param {() => Promise<void>} f */
  async #background(f) {
    try {
      await f();
    } catch (error) {
      if (this.#started) this.#options.problem?.(error instanceof DeviceError ? error : new DeviceError(String(error), "failed"));
    }
  }
}

/**
 * Adds calls to others.
 * @param {Run[]} runs
 * @param {string | number} value
 * @param {number} times
 */
function add(runs, value, times) {
  const last = runs[runs.length - 1];
  if (last && last.value === value) last.times += times;
  else runs.push({ value, times });
}
