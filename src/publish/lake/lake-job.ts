import type { SqlSession } from '../../model/sql.ts';
import type { OpenCommit } from '../publisher.ts';
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

/** The input of one publish of a lake: a commit, and what the lake needs for it. */
export interface LakeJob extends Omit<OpenCommit, 'generation' | 'work' | 'begin'> {
  /** Open on the committed work file, with access to the lake. */
  readonly session: SqlSession;
  /** Absolute path of the lake's folder. */
  readonly lake: string;
  readonly connector: string;
  readonly baseUrl: string;
  /** The commit that is published. In a lake, a generation is a version of a table. */
  readonly commit: string;
  readonly tables: readonly LakeTable[];
  /** How long generations that are no longer current are kept, ms. */
  readonly graceMs: number;
  /** Called once it is known that there is something to publish. */
  readonly onBegin: () => void;
}
