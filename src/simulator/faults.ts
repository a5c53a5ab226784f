import type { KeyState } from './credentials.ts';
import type { RecordEdit } from './endpoint.ts';
import type { ConnectionFault, HeaderMap } from './message.ts';
import type { RawJson } from './raw-json.ts';

/** What can be changed about the simulated service while it is being read. */
export interface SimulatorControls {
  readonly day: string;
  setDay(day: string): void;
  advanceDay(days?: number): void;
  /** Changes an endpoint's records from now on, on top of what each day gives: of one account, or of all. */
  editRecords(endpointPath: string, edit: RecordEdit, account?: string): void;
  setKeyState(key: string, state: KeyState): void;
}

/** One arrival, before it is answered. */
export interface FaultContext {
  /** Index of the arrival in the log. */
  readonly index: number;
  readonly atMs: number;
  readonly method: string;
  /** Path below the base path, e.g. `prompts/analytics`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The offset asked for; 0 when none or no number was. */
  readonly offset: number;
  /** Whose key it came with; undefined for an unknown key, and without accounts. */
  readonly account: string | undefined;
  readonly controls: SimulatorControls;
}

/** Which page is served, and what the envelope says about it. */
export interface PageWindow {
  readonly offset: number;
  readonly limit: number;
  readonly echoedOffset: number;
  readonly echoedLimit: number;
}

/** A successful answer before it is written; records are verbatim text. */
export interface Envelope {
  readonly data: readonly RawJson[];
  /** Missing on endpoints without pages. */
  readonly pagination?: {
    readonly total: number;
    readonly limit: number;
    readonly offset: number;
    readonly hasMore: boolean;
  };
}

/** What differs from the answer the service would give; a status or a body replaces that answer. */
export interface FaultOverride {
  readonly status?: number;
  readonly body?: string | Buffer;
  /** Added to the usual headers; undefined takes one away. */
  readonly headers?: Readonly<Record<string, HeaderMap[string] | undefined>>;
  readonly page?: (page: PageWindow) => PageWindow;
  readonly envelope?: (envelope: Envelope) => unknown;
  readonly connection?: ConnectionFault;
  readonly delayMs?: number;
}

/** Sees every arrival in order; may change the service or return what to answer differently. */
export type Fault = (context: FaultContext) => FaultOverride | undefined;

/** Which arrivals a fault is meant for; what is left out matches all. */
export interface FaultMatch {
  readonly path?: string;
  readonly offset?: number;
  readonly account?: string;
  readonly where?: (context: FaultContext) => boolean;
  /** First matching arrival that is hit, counted from 1. */
  readonly nth?: number;
  /** How many are hit: 1 when `nth` is given, else all. */
  readonly count?: number;
}

/** Limits a fault to some arrivals. It counts them itself: make a new one for each simulator. */
export function when(match: FaultMatch, effect: Fault): Fault {
  const first = match.nth ?? 1;
  const count = match.count ?? (match.nth === undefined ? Infinity : 1);
  let seen = 0;
  return (context) => {
    if (match.path !== undefined && match.path !== context.path) return undefined;
    if (match.offset !== undefined && match.offset !== context.offset) return undefined;
    if (match.account !== undefined && match.account !== context.account) return undefined;
    if (match.where?.(context) === false) return undefined;
    seen++;
    return seen >= first && seen < first + count ? effect(context) : undefined;
  };
}

/** Changes the service just before the nth arrival (counted from 1) is answered: data that moves in mid-scan. */
export function beforeRequest(
  nth: number,
  change: (controls: SimulatorControls) => void,
  match: Omit<FaultMatch, 'nth' | 'count'> = {},
): Fault {
  return when({ ...match, nth, count: 1 }, ({ controls }) => {
    change(controls);
    return undefined;
  });
}

/** Runs every fault; of what they return later ones win, and rewrites follow one another. */
export function applyFaults(faults: readonly Fault[], context: FaultContext): FaultOverride {
  return faults.reduce<FaultOverride>((merged, fault) => {
    const override = fault(context);
    return override === undefined ? merged : mergeOverrides(merged, override);
  }, {});
}

function mergeOverrides(first: FaultOverride, second: FaultOverride): FaultOverride {
  const page = compose(first.page, second.page);
  const envelope = compose(first.envelope, second.envelope as (value: unknown) => unknown);
  return {
    ...first,
    ...second,
    headers: { ...first.headers, ...second.headers },
    ...(page && { page }),
    ...(envelope && { envelope }),
  };
}

function compose<In, Out>(
  first: ((value: In) => Out) | undefined,
  second: ((value: Out) => Out) | undefined,
): ((value: In) => Out) | undefined {
  if (first === undefined) return second as ((value: In) => Out) | undefined;
  return second === undefined ? first : (value) => second(first(value));
}
