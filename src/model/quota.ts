/** The two limits every request obeys, after config and documented defaults were merged. */
export interface QuotaLimits {
  /** Ceiling a user set, else undefined: then what the server's Limit header says. */
  readonly requestsPerHourCeiling: number | undefined;
  /** Used until a response tells the limit. */
  readonly defaultRequestsPerHour: number;
  readonly burstPerSecond: number;
  /** Requests of each window left for others. */
  readonly reserve: number;
}

/** What one response told about the hourly window; all times are the local wall clock's. */
export interface WindowObservation {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Local wall time by which the window has surely reset, epoch ms. */
  readonly resetAtMs: number | undefined;
}

/** The shared memory of one key's use of the API; a plain value, saved as JSON. */
export interface QuotaState {
  readonly version: 1;
  /** The server's current hourly window, once a response told it. */
  readonly window:
    { readonly limit: number; readonly remaining: number; readonly resetAtMs: number } | undefined;
  /** Lowest limit header seen lately, also when the other headers were unusable. */
  readonly knownLimit: number | undefined;
  /** No request before this wall time (429s, Remaining 0). `recordedAtMs` guards against clock steps. */
  readonly notBefore:
    { readonly atMs: number; readonly recordedAtMs: number; readonly reason: WaitReason } | undefined;
  /** Repeated 429s since the last success, for the backoff of the whole key. */
  readonly consecutive429s: number;
  /** Requests reserved and not settled yet. */
  readonly inFlight: readonly { readonly id: string; readonly sentAtMs: number }[];
  /** Wall times until which a finished request still counts against the burst window. */
  readonly burstBusyUntilMs: readonly number[];
  /** Sends per minute of the past hour, for the own sliding count while headers are missing. */
  readonly sendsByMinute: readonly { readonly minute: number; readonly count: number }[];
}

/** Why a request has to wait. */
export type WaitReason = 'burst' | 'hourly-quota' | 'rate-limited' | 'first-response' | 'retry';

/** Where the quota state lives; `update` is atomic across every process that shares the store. */
export interface QuotaStore {
  update<T>(change: (state: QuotaState) => { readonly state: QuotaState; readonly result: T }): T;
  /** Why the store is not shared with other processes, when it is not. */
  readonly warning: string | undefined;
  close(): void;
}

/** What a caller sees of the quota. */
export interface QuotaSnapshot {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly resetAtMs: number | undefined;
  readonly notBeforeMs: number | undefined;
}
