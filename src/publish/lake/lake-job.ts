import type { Clock } from '../../model/clock.ts';
import type { SqlSession } from '../../model/sql.ts';
import type { LakePartition, TableManifest } from './manifest.ts';

/** A table as it is to be published. */
export interface LakeTable {
  readonly table: string;
  readonly stream: string;
  /** Names and the engine's types, in the table's order. */
  readonly columns: ReadonlyMap<string, string>;
  readonly partitionBy: readonly LakePartition[];
  /** Columns that the rows of a file are sorted by. */
  readonly sortBy: readonly string[];
  readonly checkpoints: TableManifest['checkpoints'];
}

/** Everything one publish of a lake needs. */
export interface LakeJob {
  /** Open on the committed work file, and allowed to reach the lake. */
  readonly session: SqlSession;
  /** Absolute path of the lake's folder. */
  readonly lake: string;
  readonly connector: string;
  readonly baseUrl: string;
  /** The commit that is published. */
  readonly commit: string;
  readonly runId: string;
  readonly tables: readonly LakeTable[];
  /** How long generations stay that are no longer current, ms. */
  readonly graceMs: number;
  /** Values left the tables that must not be kept: the generation before goes with the grace time, too. */
  readonly mustForget: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Throws where a commit that the lake turns out to hold must not be replaced. */
  readonly look: (lake: string, commit: string | undefined) => void;
  readonly warn: (message: string) => void;
  /** Told once it is known that there is something to publish. */
  readonly onBegin: () => void;
}
