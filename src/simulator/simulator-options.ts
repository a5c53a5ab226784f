import type { SimulatedAccount } from './accounts.ts';
import type { SimulatedKey } from './credentials.ts';
import type { DatasetSizes } from './dataset.ts';
import type { EndpointOptions } from './endpoint.ts';
import type { Fault } from './faults.ts';
import type { RateLimitHeaderOptions } from './rate-limit-headers.ts';
import type { RateLimits } from './rate-limiter.ts';

/** The key that works when no keys are named. */
export const DEMO_KEY = 'demo-key-0123456789';

/** Changes an endpoint's records of a day; `daysOn` counts the days since the first one. */
export type Reshape = (records: readonly unknown[], daysOn: number) => readonly unknown[];

/** How the service is to behave; everything has a default, and the default is as documented. */
export interface SimulatorOptions {
  readonly seed?: number;
  /** The service's data day; `2026-01-31` when left out, so that tests see the same data for ever. */
  readonly day?: string;
  /**
   * What the data is a function of: the calendar (the default: started again on a later day, it continues), or the
   * days since the first one (the same data on whatever day it starts, with other dates).
   */
  readonly dates?: 'calendar' | 'relative';
  readonly sizes?: Partial<DatasetSizes>;
  /** Whether old days stay as new ones come (`grows`, the default), or leave (`slides`). */
  readonly history?: 'grows' | 'slides';
  /** Endpoints by path, replacing built-in ones of the same path. */
  readonly endpoints?: Readonly<Record<string, EndpointOptions>>;
  /** Changes to the records of endpoints by path, built-in ones included. */
  readonly reshape?: Readonly<Record<string, Reshape>>;
  /** False serves `endpoints` alone. */
  readonly builtIns?: boolean;

  readonly keys?: readonly (string | SimulatedKey)[];
  readonly bearerTokens?: readonly string[];
  /** In place of `keys` and `bearerTokens`: each account sees its own records only. */
  readonly accounts?: readonly SimulatedAccount[];

  readonly rateLimit?: Partial<RateLimits & RateLimitHeaderOptions>;
  /** What a limit above the maximum gets: 400 (the default), or the maximum. */
  readonly limitTooHigh?: 'reject' | 'cap';
  /** Whether visibility/mentions answers 400 without `entity`. */
  readonly requireEntity?: boolean;
  /** What the server's clock is ahead of the true one. */
  readonly clockSkewMs?: number;
  /** `/api/v1` when left out. */
  readonly basePath?: string;
  readonly faults?: readonly Fault[];
  /** Arrivals that the log keeps at least; 250,000 when left out. */
  readonly maxLogEntries?: number;
}
