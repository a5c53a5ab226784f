import { z } from 'zod';
import type { EngineReach } from './destination.ts';
import { duration } from './duration.ts';

/** How several machines share the accounts of a config. */
export const fleetSchema = z.strictObject({
  /** `postgres://…`, of the database that hands out the work. */
  database: z.string().min(1).optional(),
  /** `s3://bucket/prefix`, a folder that all machines see, or `postgres`. */
  store: z.string().min(1).optional(),
  /** A secret: what is in the store is encrypted with it. */
  encryptionKey: z
    .string()
    .min(16, 'must be at least 16 characters')
    .regex(/^(?!\$\{?\w+\}?$)/, 'is the name of a variable, not its value; in braces it is a placeholder')
    .optional(),
  lease: duration.refine((ms) => ms >= 2_000, 'must be at least 2s').optional(),
  /** Five fields of cron. */
  schedule: z.string().min(1).optional(),
  timezone: z.string().min(1).optional(),
  jitter: duration.optional(),
  /** Pages of a run after which they are put away, so that a kill costs no more. */
  putEveryPages: z.int().min(1).optional(),
});

/** Settings of a fleet that are secrets. */
export const secretFleetPaths = [
  // It may have a password in it.
  ['fleet', 'database'],
  ['fleet', 'encryptionKey'],
] as const;

/** Where the state of accounts is kept between their runs. */
export type StorePlace =
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  /** Absolute path of a folder that all machines see. */
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'postgres' };

/** Everything that a fleet needs, resolved. */
export interface FleetSettings {
  readonly database: URL;
  /** The database as people see it, without a login. */
  readonly place: string;
  readonly store: StorePlace;
  /** How a bucket is reached. */
  readonly reach: EngineReach;
  readonly encryptionKey: string;
  readonly leaseMs: number;
  /** Undefined: accounts are synced when somebody asks for it. */
  readonly schedule: { readonly expression: string; readonly timezone: string } | undefined;
  readonly jitterMs: number;
  readonly putEveryPages: number;
  /** What no output may show. */
  readonly secrets: readonly string[];
}

/** Defaults of a fleet, in milliseconds. */
export const fleetDefaults = {
  store: 'postgres',
  leaseMs: 60_000,
  timezone: 'UTC',
  jitterMs: 0,
  putEveryPages: 50,
} as const;
