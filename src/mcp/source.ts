import type { QueryResult } from '../model/reports.ts';

/** What every call has: whose data, and until when. */
export interface Asked {
  /** One account of the config; all of them when left out. */
  readonly account?: string | undefined;
  readonly signal: AbortSignal;
}

export interface AskedRows extends Asked {
  readonly maxRows: number;
}

/** Rows of a query, and what is not in them. */
export interface FoundRows extends QueryResult {
  /** Accounts that have published nothing yet. */
  readonly leftOut: readonly string[];
}

/** What a command of Sluice gives with `--json`. */
export type CommandResult = unknown;

/**
 * What the tools ask of Sluice. Each call opens what is published at that moment, and reads only. It throws a SyncError
 * for what cannot be answered.
 */
export interface McpSource {
  /** Runs a SELECT over the published tables; rejects every other statement. */
  query(sql: string, asked: AskedRows): Promise<FoundRows>;
  status(asked: Asked): Promise<CommandResult>;
  runs(asked: Asked & { readonly runId?: string | undefined }): Promise<CommandResult>;
  quarantine(
    asked: Asked & { readonly streams?: string | undefined; readonly limit: number },
  ): Promise<CommandResult>;
  quarantined(asked: Asked & { readonly id: string }): Promise<CommandResult>;
}
