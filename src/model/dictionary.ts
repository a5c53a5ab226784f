import type { FieldNotes } from './schema.ts';
import type { ReportedError } from './run-report.ts';
import type { RecordedChange } from './schema-report.ts';

/** A column of a published table, and what is known about it. */
export interface DescribedColumn extends FieldNotes {
  readonly name: string;
  /** The type it has in the table. */
  readonly type: string;
  /** Where its value is in a record, joined by dots; undefined for a column of Sluice's own. */
  readonly field: string | undefined;
  /** The column whose other values it has, as text. */
  readonly companionOf: string | undefined;
  /** What the type was chosen by, in words; undefined where nobody remembers. */
  readonly evidence: string | undefined;
  /** Whether a row has no value; undefined where nobody looked. */
  readonly hasNulls: boolean | undefined;
  readonly isInKey: boolean;
  /** Its values are keyed hashes: the config masks the field. */
  readonly isHashed: boolean;
  /** Run whose full scan was the first in which no record had the field. */
  readonly absentSince: string | undefined;
}

/** What tells the rows of a table apart. */
export interface DescribedKey {
  readonly columns: readonly string[];
  readonly origin: 'config' | 'learned';
  /** It held on two days; a key of the config needs no proof. */
  readonly isProved: boolean;
}

/** A published table, and what is known about it. */
export interface DescribedTable {
  readonly table: string;
  readonly stream: string;
  /** A history has the versions of a table's rows. */
  readonly holds: 'rows' | 'versions';
  readonly connector: string;
  readonly path: string;
  readonly description: string | undefined;
  readonly key: DescribedKey | undefined;
  /** When the last full scan began that was `verified`, ISO; of slices, the oldest. */
  readonly verifiedWholeAt: string | undefined;
  readonly columns: readonly DescribedColumn[];
}

/** Comments of a table or a view and of its columns, as SQL has them. */
export interface RelationComments {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'TABLE' | 'VIEW';
  /** Undefined: it gets none, and one that is there stays. */
  readonly comment: string | undefined;
  readonly columns: ReadonlyMap<string, string>;
}

/** A table of the data dictionary, with what only its data shows. */
export interface DictionaryTable extends DescribedTable {
  /** Undefined where counting took too long. */
  readonly rows: number | undefined;
  /** Share of rows without a value, from 0 to 1, by column; empty without rows, or where counting took too long. */
  readonly nullShares: Readonly<Record<string, number>>;
  /** The contract file, relative to the config. */
  readonly contractFile: string | undefined;
  /** Fields that the config leaves out of every record. */
  readonly excluded: readonly string[];
  /** Changes of its columns, the newest first. */
  readonly changes: readonly RecordedChange[];
  /** How many older ones there are. */
  readonly moreChanges: number;
}

/** The data dictionary of one published file. */
export interface Dictionary {
  readonly connector: string;
  /** The file that it describes; undefined if nothing is published. */
  readonly file: string | undefined;
  readonly tables: readonly DictionaryTable[];
}

/** The dictionary of an account, or why it could not be read; without accounts there is one without a name. */
export interface AccountDictionary {
  readonly account: string | undefined;
  readonly dictionary: Dictionary | undefined;
  readonly error: ReportedError | undefined;
}

/** What the page of the data dictionary shows. */
export interface DictionaryData {
  readonly madeAt: string;
  readonly version: string;
  readonly accounts: readonly AccountDictionary[];
}

/** The page, and what is on it. */
export interface RenderedDictionary {
  readonly html: string;
  /** In a sentence. */
  readonly summary: string;
  readonly data: DictionaryData;
}
