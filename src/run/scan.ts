import type { Page } from '../model/page.ts';
import type { RowCounts, SchemaChange, Verdict } from '../model/run-report.ts';
import type { JsonType } from '../model/schema.ts';
import type { Checkpoint, ScanHead } from '../model/stream.ts';
import type { ElementFields, FieldTree } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { RejectedRecords } from '../warehouse/rejected-records.ts';
import type { MaskedColumns } from '../schema/mask-columns.ts';
import type { Retyping } from '../warehouse/retype-column.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';

// The values that pass from stage to stage of a scan: planned -> fetched -> prepared -> committed.

/**
 * Why a scan is `drifted`: its data moved, the source contradicts itself while its data is unchanged, or the scan
 * takes longer than the data can be expected to keep still.
 */
export type DriftCause = 'moved' | 'contradiction' | 'too-long';

/** How many rows the API has in all, asked for when an incremental scan ended. */
export interface ApiCount {
  /** null: it was not asked, or gives no count. */
  readonly rows: number | null;
  /** Requests the count again if it does not match the table; rows added since the scan ended are excluded. */
  readonly again?: (since?: readonly string[]) => Promise<ApiCount>;
  /** How many of them are from days (ISO) on; asked for if the table has rows that the API no longer counts. */
  readonly since?: readonly { readonly date: string; readonly rows: number }[] | undefined;
  /** The quota has room for reading the stream in full right away. */
  readonly canReadInFull: boolean;
}

/** A completely read scan, staged on disk and judged; not loaded yet. */
export interface FetchedScan {
  readonly plan: ScanPlan;
  readonly recordsFile: string;
  readonly tree: FieldTree;
  readonly verdict: Verdict;
  readonly reasons: readonly string[];
  /** Only for a `drifted` scan. */
  readonly cause?: DriftCause;
  /** The only fields in which records that were read repeatedly differed. */
  readonly differing?: readonly string[];
  readonly total: number | undefined;
  readonly rows: number;
  readonly pages: number;
  readonly rescans: number;
  /** The source may have been refreshed between its pages: they may mix two versions of the data. */
  readonly isApart?: boolean;
  readonly duplicateMembers: number;
  readonly startedAtMs: number;
  /** The server's date when the scan began, epoch ms. */
  readonly serverDateMs: number;
  /** The head of the scan, to detect an unchanged source; undefined if there is no head to compare. */
  readonly head: ScanHead | undefined;
  /** Fields of config's masks that some record had; undefined if this run did not see every page. */
  readonly masked?: ReadonlySet<string> | undefined;
  /** Of an archived scan: path of the field that its run dated rows by, null for none. */
  readonly datedBy?: readonly string[] | null | undefined;
  /** Of an incremental scan; undefined for one that was archived before this was asked. */
  readonly counted?: ApiCount;
  /** Requests a page with the record at a position again; it may begin before it. */
  readonly reread: (position: number) => Promise<Page>;
}

/** Changes to an existing table that config's column rules require before rows are merged. */
export interface ColumnChanges {
  /** Fields that are newly masked; undefined if there are none. */
  readonly masked: MaskedColumns | undefined;
  /** The masks to record; undefined if they are unchanged. */
  readonly masks: string | undefined;
  /** Fields that are now hashed with a different key. */
  readonly rehashed: readonly string[];
  /** Fields that are hashed and were not, or the reverse. */
  readonly remasked: readonly string[];
  readonly retyped: readonly Retyping[];
}

/** A scan's rows in the incoming table, with the key and cursor they will be merged by. */
export interface PreparedLoad {
  readonly columns: readonly ColumnPlan[];
  readonly tableExisted: boolean;
  /** What config's column rules first change in the table. */
  readonly columnChanges: ColumnChanges;
  /** Records that could not become rows: they go to quarantine as received. */
  readonly rejected: RejectedRecords;
  /** Whether some that did may be in quarantine from earlier runs. */
  readonly releases: boolean;
  /** Learned columns whose field no record has, by name, with the run that noticed. */
  readonly absentSince: ReadonlyMap<string, string>;
  /** JSON types of the values of columns' fields, by name, as far as they are known. */
  readonly jsonTypes?: ReadonlyMap<string, readonly JsonType[]>;
  /** What the arrays of the records hold; undefined if some records' arrays were not looked at. */
  readonly elements?: SeenElements | undefined;
  readonly key: PreparedKey | undefined;
  /** Positions of rows read twice without a key to show it: moved pages repeat rows. */
  readonly suspects?: readonly number[];
  readonly cursorColumn: string | undefined;
  /** Newest cursor date among the incoming rows, ISO. */
  readonly newestCursor: string | undefined;
  readonly oldestCursor: string | undefined;
  /** Incoming rows without a date in the cursor's column; undefined if there is no such column. */
  readonly dateless: number | undefined;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

/** What the arrays of a scan's records hold. */
export interface SeenElements {
  /** How many records were read. */
  readonly records: number;
  /** By column; one without an entry has no array with an object. */
  readonly byColumn: ReadonlyMap<string, ElementFields>;
}

/** Whether a column of the load holds timestamps: their date depends on a time zone. */
export function isTimestamp({ columns }: Pick<PreparedLoad, 'columns'>, name: string | undefined): boolean {
  return columns.some((column) => column.name === name && column.type.startsWith('TIMESTAMP'));
}

export interface PreparedKey {
  readonly columns: readonly string[];
  readonly origin: 'config' | 'learned';
  /** Rows dropped because a later one has the same key. */
  readonly duplicates: number;
  /** Positions of some of them and of the rows that stayed, to ask for again. */
  readonly duplicatePositions: readonly number[];
}

/** What a committed scan changed. */
export interface CommittedScan {
  readonly rows: RowCounts;
  readonly rowsInTable: number;
  /** As in the stream's report. */
  readonly rowsInApi?: number | undefined;
  readonly difference?: number | undefined;
  readonly schemaChanges: readonly SchemaChange[];
  /** What was noticed while the rows were merged. */
  readonly notes: readonly string[];
  readonly checkpoint: Checkpoint;
}
