import type { Clock } from '../../model/clock.ts';
import type { SqlSession } from '../../model/sql.ts';
import type { LakePartition, TableManifest } from './manifest.ts';

/** A table to publish. */
export interface LakeTable {
  readonly table: string;
  readonly stream: string;
  /** Names and engine types, in the order of the table. */
  readonly columns: ReadonlyMap<string, string>;
  readonly partitionBy: readonly LakePartition[];
  /** Columns by which the rows of a file are sorted. */
  readonly sortBy: readonly string[];
  readonly checkpoints: TableManifest['checkpoints'];
}

/** The input of one publish of a lake. */
export interface LakeJob {
  /** Open on the committed work file, with access to the lake. */
  readonly session: SqlSession;
  /** Absolute path of the lake's folder. */
  readonly lake: string;
  readonly connector: string;
  readonly baseUrl: string;
  /** The commit that is published. */
  readonly commit: string;
  readonly runId: string;
  readonly tables: readonly LakeTable[];
  /** How long generations that are no longer current are kept, ms. */
  readonly graceMs: number;
  /** The tables lost values that must not be kept: the previous generation is deleted after the grace time as well. */
  readonly mustForget: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Throws if the commit found in the lake must not be replaced. */
  readonly look: (commit: string | undefined) => Promise<void>;
  readonly warn: (message: string) => void;
  /** Called once it is known that there is something to publish. */
  readonly onBegin: () => void;
}
