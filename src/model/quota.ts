import { HOUR_MS } from './dates.ts';

/** The two limits every request obeys, after config and documented defaults were merged. */
export interface QuotaLimits {
  /** Length of the server's window, ms. */
  readonly windowMs: number;
  /** Ceiling a user set, else undefined: then what the server's Limit header says. */
  readonly ceilingPerWindow: number | undefined;
  /** Used until a response shows the limit. */
  readonly defaultPerWindow: number;
  readonly burstPerSecond: number;
  /** Requests of each window left for others. */
  readonly reserve: number;
}

/** What one response said about the window; all times are the local wall clock's. */
export interface WindowObservation {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Local wall time by which the window has surely reset, epoch ms. */
  readonly resetAtMs: number | undefined;
}

/** The server's window from its headers; `remaining` is the lowest seen in it. */
export interface QuotaWindow {
  /** undefined if the server sends none: Remaining and Reset are all that a window needs. */
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly resetAtMs: number;
  /** When the last response of this window came, epoch ms. */
  readonly seenAtMs: number;
}

/** Headers that do not define a window: they can only make our own count stricter. */
export interface PartialWindow {
  readonly remaining: number;
  readonly resetAtMs: number | undefined;
  readonly seenAtMs: number;
}

/** No request before `atMs`; `recordedAtMs` shows which requests were sent before it was known. */
export interface Deferral {
  readonly atMs: number;
  readonly recordedAtMs: number;
  readonly reason: WaitReason;
}

/** A request reserved and not settled yet. */
export interface Reservation {
  readonly id: string;
  readonly sentAtMs: number;
  /** What the wall clock was ahead of the machine's own one then, ms; moved with all times. */
  readonly offsetMs?: number;
}

/** The shared memory of one key's use of the API; a plain value, saved as JSON. All times are epoch ms. */
export interface QuotaState {
  readonly version: 1;
  /** Latest wall time at which this state was used: an earlier `now` means the clock was set back. */
  readonly lastUsedAtMs: number;
  /** How far all times here were moved, in all, because the wall clock was set. */
  readonly movedMs: number;
  readonly window: QuotaWindow | undefined;
  readonly partial: PartialWindow | undefined;
  /** The last answer outside a known window had no usable headers: the own count holds. */
  readonly headersMissing: boolean;
  /** Limit of the last known window, lowered by any Limit header seen since. */
  readonly knownLimit: number | undefined;
  readonly notBefore: Deferral | undefined;
  /** Rounds of 429 since the last success, for the backoff of the whole key. */
  readonly consecutive429s: number;
  readonly inFlight: readonly Reservation[];
  /** Requests that ended without a count from the server; spent until an answer to a later one came. */
  readonly unaccounted: { readonly count: number; readonly lastAtMs: number } | undefined;
  /** Finished requests that still fill the burst window: `[untilMs, count]`, in order of time. */
  readonly burstBusy: readonly CountAt[];
  /** A pace below the configured burst, learned from the server's 429s, kept for a while. */
  readonly slowedBurst: { readonly perSecond: number; readonly untilMs: number } | undefined;
  /**
   * Sends of the past window, for the own count: `[minute since the epoch, count]`, in order of time. Once moved with a
   * clock, minutes begin anywhere, and are fractions.
   */
  readonly sendsByMinute: readonly CountAt[];
}

/** A time (or minute) and how many belong to it; a pair keeps the saved state small. */
export type CountAt = readonly [at: number, count: number];

/**
 * Why a request has to wait; `first-response` means that an answer still in flight decides, `other-run` that only
 * other runs have such answers to come.
 */
export type WaitReason = 'burst' | 'hourly-quota' | 'rate-limited' | 'first-response' | 'other-run' | 'retry';

export const waitReasons = [
  'burst',
  'hourly-quota',
  'rate-limited',
  'first-response',
  'other-run',
  'retry',
] as const satisfies readonly WaitReason[];

/** What a request waits for, in words. */
export function nameCause(reason: WaitReason): string {
  switch (reason) {
    case 'hourly-quota':
      return 'the quota';
    case 'rate-limited':
      return 'the pause the server asked for (429)';
    case 'burst':
      return 'the burst limit';
    case 'first-response':
      return 'the first response';
    case 'other-run':
      return 'an answer to another, perhaps killed, run with this key';
    case 'retry':
      return 'the next attempt';
  }
}

/** Where the quota state lives: a file, this process, a server. */
export interface QuotaStore {
  /**
   * Applies a change to the state, atomically across every process that shares the store, and resolves to its result.
   * `change` is called once: returning the state object that was passed in writes nothing, and what it throws is
   * the only reason to reject. A store that fails continues with the state it knew, in this process only, and sets
   * `warning`; one that is closed does so without a warning.
   */
  update<T>(change: QuotaChange<T>): Promise<T>;
  /** Why the store is not shared with other processes, or was not for a time; may appear while it is used. */
  readonly warning: string | undefined;
  /** May be called more than once. */
  close(): Promise<void>;
}

/**
 * Opens the quota of a key, which `keyHash` names without revealing it; `dir` is the folder of the ledgers, for stores on
 * this machine. Never throws, and waits for nothing: a store that cannot be used says so by its `warning`.
 */
export type OpenQuotaStore = (key: { readonly dir: string; readonly keyHash: string }) => QuotaStore;

/** What an update does to the state, and what it tells its caller. */
export type QuotaChange<T> = (state: QuotaState) => { readonly state: QuotaState; readonly result: T };

/** What a caller sees of the quota. */
export interface QuotaSnapshot {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly resetAtMs: number | undefined;
  readonly notBeforeMs: number | undefined;
}

/** What the quota still allows, by every rule that requests obey. */
export interface QuotaRoom {
  /** Requests that may leave before one has to wait for the quota. */
  readonly requests: number;
  /** When more is allowed, epoch ms; undefined if unknown. */
  readonly returnsAtMs: number | undefined;
}

/** Knows nothing, which is the safe start: one request goes alone, and its response shows the rest. */
export function initialQuotaState(): QuotaState {
  return {
    version: 1,
    lastUsedAtMs: 0,
    movedMs: 0,
    window: undefined,
    partial: undefined,
    headersMissing: false,
    knownLimit: undefined,
    notBefore: undefined,
    consecutive429s: 0,
    inFlight: [],
    unaccounted: undefined,
    burstBusy: [],
    slowedBurst: undefined,
    sendsByMinute: [],
  };
}

/** A saved state checked field by field; undefined when any of it is not what this version writes. */
export function parseQuotaState(text: string): QuotaState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isQuotaState(value) ? { ...initialQuotaState(), ...value } : undefined;
}

function isQuotaState(value: unknown): value is QuotaState {
  return (
    isRecord(value) &&
    value['version'] === 1 &&
    isTime(value['lastUsedAtMs']) &&
    isTime(value['movedMs']) &&
    isMissingOr(value['window'], isWindow) &&
    isMissingOr(value['partial'], isPartial) &&
    typeof value['headersMissing'] === 'boolean' &&
    isMissingOr(value['knownLimit'], isCount) &&
    isMissingOr(value['notBefore'], isDeferral) &&
    isCount(value['consecutive429s']) &&
    isListOf(value['inFlight'], isReservation) &&
    isMissingOr(value['unaccounted'], isUnaccounted) &&
    isListOf(value['burstBusy'], isCountAt) &&
    isMissingOr(value['slowedBurst'], isSlowedBurst) &&
    isListOf(value['sendsByMinute'], isCountAt)
  );
}

function isWindow(value: unknown): boolean {
  return (
    isPartial(value) && isRecord(value) && isMissingOr(value['limit'], isCount) && isTime(value['resetAtMs'])
  );
}

function isPartial(value: unknown): boolean {
  return (
    isRecord(value) &&
    isCount(value['remaining']) &&
    isMissingOr(value['resetAtMs'], isTime) &&
    isTime(value['seenAtMs'])
  );
}

function isDeferral(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { atMs, recordedAtMs, reason } = value;
  return (
    isTime(atMs) &&
    isTime(recordedAtMs) &&
    typeof reason === 'string' &&
    (waitReasons as readonly string[]).includes(reason)
  );
}

function isReservation(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value['id'] === 'string' &&
    isTime(value['sentAtMs']) &&
    isMissingOr(value['offsetMs'], isTime)
  );
}

function isUnaccounted(value: unknown): boolean {
  return isRecord(value) && isCount(value['count']) && isTime(value['lastAtMs']);
}

function isSlowedBurst(value: unknown): boolean {
  return isRecord(value) && isCount(value['perSecond']) && isTime(value['untilMs']);
}

function isCountAt(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isTime(value[0]) && isCount(value[1]);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isMissingOr(value: unknown, isPresent: (value: unknown) => boolean): boolean {
  return value === undefined || isPresent(value);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** What is known of a quota before the first response. */
export const noQuota: QuotaSnapshot = {
  limit: undefined,
  remaining: undefined,
  resetAtMs: undefined,
  notBeforeMs: undefined,
};

/** Requests of a window as requests of an hour, as config and people count them. */
export function perHour(perWindow: number, windowMs: number): number {
  return Math.max(1, Math.floor((perWindow * HOUR_MS) / windowMs));
}

/** Requests of an hour in proportion to a window. */
export function perWindow(requestsPerHour: number, windowMs: number): number {
  return Math.max(1, Math.floor((requestsPerHour * windowMs) / HOUR_MS));
}
