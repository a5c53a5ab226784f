import type { AccountOfConfig } from './account.ts';
import type { Connector } from './connector.ts';
import type { Destination, EngineReach } from './destination.ts';
import type { NotifyRules } from './notify.ts';
import type { QuotaLimits } from './quota.ts';
import type { Stream } from './stream.ts';

export type Credentials =
  | { readonly kind: 'api-key'; readonly secret: string }
  | { readonly kind: 'bearer'; readonly secret: string };

/** Where a setting's value came from, for `config show`. */
export type Origin = 'config' | 'environment' | 'file' | 'flag' | 'default' | 'connector';

/** Everything a run needs, resolved: absolute paths, merged defaults, the secret read. */
export interface Settings {
  /** Absolute path of the config file; undefined when the library was given an object. */
  readonly configPath: string | undefined;
  readonly connector: Connector;
  /** Without a trailing slash, query or user info. */
  readonly baseUrl: URL;
  readonly credentials: Credentials;
  readonly arrayParams: 'comma' | 'repeat';
  readonly quotaLimits: QuotaLimits;
  /** Absolute; processes that name the same folder share one ledger. */
  readonly ledgerDir: string;
  readonly keyExpiresAt: string | undefined;
  /** Where a run publishes, in the order in which people read it; at least one. */
  readonly destinations: readonly Destination[];
  /** How the engine reaches buckets, for destinations and exports. */
  readonly reach: EngineReach;
  /** Absolute path of the DuckDB file that readers, and commands that show data, open. It may not exist yet. */
  readonly readersFile: string;
  /** Absolute path of the state folder. */
  readonly stateDir: string;
  /** Secret key of the hashes that stand for personal data; undefined where no column is hashed. */
  readonly hashKey: string | undefined;
  readonly retention: {
    /** 0 keeps no archive. */
    readonly archiveMs: number;
    readonly quarantineMs: number;
    /** undefined keeps versions for ever. */
    readonly historyMs: number | undefined;
    readonly runsMs: number;
    /** How long generations of a lake stay that are no longer current. */
    readonly lakeMs: number;
  };
  /** The notices of a run and their targets. */
  readonly notify: NotifyRules;
  /** Enabled streams only, in the connector's order, then the config's own. */
  readonly streams: readonly Stream[];
  /** Names of streams that config switched off. */
  readonly disabledStreams: readonly string[];
  /** Warnings, e.g. about a base URL without a version segment. */
  readonly warnings: readonly string[];
}

/** Settings of a command that sends no request and so needs no key, e.g. `status` or `config show`. */
export type OfflineSettings = Omit<Settings, 'credentials'>;

/** Options of one `sync`; all optional. */
export interface SyncOptions {
  /** Which account of its config the run is of; undefined for a config without accounts. */
  readonly ofAccount?: AccountOfConfig;
  readonly streams?: readonly string[];
  readonly fullRefresh?: boolean;
  /** ISO date; asks from this date instead of the watermark. */
  readonly from?: string;
  readonly runId?: string;
  readonly allowEmpty?: boolean;
  readonly maxRequests?: number;
  readonly maxWaitMs?: number;
  /** The run ends this long after its start, with progress saved. */
  readonly deadlineMs?: number;
  /** Also sync streams that are still fresh. */
  readonly force?: boolean;
  /**
   * Accept a key that differs from the state's as a new one of the same account, without checking what it
   * returns.
   */
  readonly acceptNewKey?: boolean;
  /** Any warning fails the run with exit code 4. */
  readonly strict?: boolean;
  /** Read at most this many rows of each stream. */
  readonly limit?: number;
  /** Scans, as `nameScan` names them, that an earlier run of the same sync completed: they are not read again. */
  readonly completed?: readonly string[];
}

/** Whether a sync reads streams that are still fresh. */
export function readsFresh({ force, fullRefresh, from, limit }: SyncOptions): boolean {
  return force === true || fullRefresh === true || from !== undefined || limit !== undefined;
}
