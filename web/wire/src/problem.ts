/** A refusal of a service (RFC 9457). Codes are stable; of one that is not known here the status says whether to try again. */
export class Problem extends Error {
  override readonly name = "Problem";
  constructor(readonly code: string, readonly status: number, readonly detail: string, readonly remedy: string, readonly retryAfter?: number) {
    super(`${code}: ${detail}`);
  }
  /** Whether the same request may succeed later. */
  get again(): boolean {
    return again.has(this.code) || this.status === 429 || this.status >= 500;
  }
}

const again = new Set(["request-timeout", "not-open", "not-closed", "rate-limited", "internal", "overloaded", "plan-suspended", "storage-full"]);

const maxProblem = 16384;

/** The problem that an answer is; undefined if it is none. */
export async function readProblem(response: Response): Promise<Problem | undefined> {
  if (response.status < 400) {
    return undefined;
  }
  const retry = /^\d{1,9}$/.exec(response.headers.get("Retry-After") ?? "");
  const after = retry === null ? undefined : Number(retry[0]);
  let body: Record<string, unknown> = {};
  if (response.headers.get("Content-Type")?.startsWith("application/problem+json") === true) {
    const raw = await response.text();
    try {
      body = raw.length > maxProblem ? {} : (JSON.parse(raw) as Record<string, unknown>);
    } catch {
      // what stands on the way answered, and not the service
    }
  }
  const of = (name: string) => (typeof body[name] === "string" ? (body[name] as string) : "");
  return new Problem(of("code") || "unknown", response.status, of("detail"), of("remedy"), after);
}
