/** The limits of one key. */
export interface RateLimits {
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  /** Length of the fixed window; an hour unless a test wants it shorter. */
  readonly windowMs: number;
}

/** What the server makes of one arrival; times are on the same clock as the arrival. */
export interface RateLimitVerdict {
  /** Which limit the arrival broke; undefined when it may pass. */
  readonly broken: 'hourly' | 'burst' | undefined;
  readonly limit: number;
  readonly remaining: number;
  readonly windowStartMs: number;
  readonly resetAtMs: number;
  /** How long until a next arrival may pass; 0 when this one does. */
  readonly retryAfterMs: number;
}

/** The server's memory of who asked when. */
export interface RateLimiter {
  /** Counts an arrival of a key, whatever becomes of it. */
  arrive(key: string, atMs: number): RateLimitVerdict;
}

/** The documented limits of the Growth and Pro plans. */
export const DOCUMENTED_LIMITS: RateLimits = {
  requestsPerHour: 600,
  burstPerSecond: 10,
  windowMs: 3_600_000,
};

const BURST_WINDOW_MS = 1000;

interface KeyState {
  readonly windowStartMs: number;
  readonly count: number;
  /** The latest arrivals, at most as many as may come within a second. */
  readonly recentMs: readonly number[];
}

/**
 * Limits each key to a fixed window, opened by its first request, and to a sliding second. Rejected
 * arrivals count as well: a client that hammers stays rejected.
 */
export function createRateLimiter(limits: RateLimits): RateLimiter {
  const keys = new Map<string, KeyState>();
  return {
    arrive(key, atMs) {
      const before = keys.get(key);
      const expired = before === undefined || atMs >= before.windowStartMs + limits.windowMs;
      const recentMs = before?.recentMs ?? [];
      const after: KeyState = {
        windowStartMs: expired ? atMs : before.windowStartMs,
        count: (expired ? 0 : before.count) + 1,
        recentMs: remember(recentMs, atMs, limits.burstPerSecond),
      };
      keys.set(key, after);
      return judge(limits, after, isBurst(recentMs, atMs, limits.burstPerSecond), atMs);
    },
  };
}

function judge(limits: RateLimits, state: KeyState, burst: boolean, atMs: number): RateLimitVerdict {
  const resetAtMs = state.windowStartMs + limits.windowMs;
  const broken = state.count > limits.requestsPerHour ? 'hourly' : burst ? 'burst' : undefined;
  const burstEndMs = (state.recentMs[0] ?? atMs) + BURST_WINDOW_MS;
  return {
    broken,
    limit: limits.requestsPerHour,
    remaining: Math.max(0, limits.requestsPerHour - state.count),
    windowStartMs: state.windowStartMs,
    resetAtMs,
    retryAfterMs: broken === undefined ? 0 : (broken === 'hourly' ? resetAtMs : burstEndMs) - atMs,
  };
}

function isBurst(recentMs: readonly number[], atMs: number, burstPerSecond: number): boolean {
  const oldest = recentMs[0];
  return recentMs.length >= burstPerSecond && oldest !== undefined && oldest > atMs - BURST_WINDOW_MS;
}

function remember(recentMs: readonly number[], atMs: number, burstPerSecond: number): readonly number[] {
  // Without a burst limit nothing need be remembered, and the list would grow for ever.
  if (!Number.isFinite(burstPerSecond)) return [];
  return [...recentMs, atMs].slice(-burstPerSecond);
}
