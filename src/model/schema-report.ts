import type { FieldNotes } from './schema.ts';
import type { ContractMode } from './schema.ts';

/** What is known of one stream's columns, as `schema show` shows it. */
export interface StreamSchema {
  readonly stream: string;
  readonly modes: { readonly columns: ContractMode; readonly types: ContractMode };
  /** The contract file, where there is one. */
  readonly file: string | undefined;
  /** What the file says about the records. */
  readonly description: string | undefined;
  readonly columns: readonly ShownColumn[];
}

export interface ShownColumn extends FieldNotes {
  /** Name in the table; a field that held nothing but nulls has none there yet. */
  readonly name: string;
  readonly type: string;
  /** Names joined by dots. */
  readonly field: string;
  /** Takes what another column cannot hold. */
  readonly companionOf: string | undefined;
  /** Run that added the column; undefined if the record of it is gone. */
  readonly since: string | undefined;
  /** Run whose full scan was the first in which no record had the field. */
  readonly absentSince: string | undefined;
  /** What config says about it: a type, or a hash. */
  readonly rule: string | undefined;
}

/** How contract files and learned columns differ, or what changed since a run. */
export interface SchemaDiff {
  readonly streams: readonly StreamDiff[];
  readonly changes: readonly RecordedChange[];
  readonly differs: boolean;
}

export interface StreamDiff {
  readonly stream: string;
  readonly file: string;
  readonly differences: readonly {
    readonly field: string;
    readonly kind: 'not-learned' | 'not-in-file' | 'type';
    readonly fileType: string | undefined;
    readonly learnedType: string | undefined;
  }[];
}

/** A row of `_sluice.schema_changes`. */
export interface RecordedChange {
  readonly runId: string;
  readonly stream: string;
  readonly column: string;
  readonly change: string;
  readonly fromType: string | undefined;
  readonly toType: string | undefined;
  readonly changedAt: string;
}

export const exportFormats = ['json-schema', 'typescript', 'dbt', 'sql'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What `schema export` wrote, or would print. */
export interface SchemaExport {
  readonly format: ExportFormat;
  readonly streams: readonly string[];
  /** One text, or one per stream if the format is one file per stream. */
  readonly files: readonly { readonly stream: string | undefined; readonly text: string }[];
}
