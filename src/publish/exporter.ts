import type { EngineReach } from '../model/destination.ts';
import type { TableCopy } from '../model/reports.ts';

/** What is exported, and where to. */
export interface ExportJob {
  /** Absolute path of the DuckDB file that readers open. */
  readonly file: string;
  /** Absolute path of a folder that exists, or `s3://bucket/prefix`; no slash at the end. */
  readonly place: string;
  readonly reach: EngineReach;
  /** A folder for what does not fit into memory. */
  readonly spillFolder: string;
}

/**
 * Writes the chosen tables, each in a folder of its own, and reads them back.
 *
 * @throws ConfigError (2) for a missing extension, or a folder with something else in it; PublishError (6) for a place
 * that cannot be written, or that does not have the same rows afterwards
 */
export type Exporter = (job: ExportJob, chooses: (table: string) => boolean) => Promise<readonly TableCopy[]>;
