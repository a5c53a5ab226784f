import type { ServerDestination } from '../../model/destination.ts';
import type { RelationComments } from '../../model/dictionary.ts';
import type { SyncError } from '../../model/errors.ts';
import type { SqlSession } from '../../model/sql.ts';
import type { Lease } from '../../model/state-lock.ts';
import type { Database } from '../../warehouse/database.ts';
import type { Damage, LocalPlace } from '../publisher.ts';
import type { StoredSchema } from './names.ts';
import type { ViewKeeper } from './view-keeper.ts';

/**
 * A catalog of tables that many programs use, as the engine opens it. The rest of this folder publishes to any of them;
 * this is what is particular to a kind.
 */
export interface Lakehouse {
  readonly destination: ServerDestination;
  /** As people call it: `DuckLake`. */
  readonly title: string;
  /** Where it lies on this machine. */
  readonly local?: LocalPlace;
  /** Whether tables are divided into partitions by month or day. */
  readonly isPartitioned: boolean;
  /** Whether a transaction changes all its tables at once. Otherwise each is committed alone, and the state last. */
  readonly commitsTogether: boolean;

  /** @throws ConfigError (2) for a place on this machine that cannot be written */
  assertWritable?(): void;
  /**
   * Opens it, as `lake` unless `destination` has another name, in an engine of its own, which can access nothing but the lakehouse and one file.
   *
   * @returns undefined if it is not there yet; everything that it needs was found then
   * @throws ConfigError (2) for an extension that is missing; PublishError: 2 for a place of others, 6 for servers that
   * cannot be reached or refuse
   */
  open(access: LakehouseAccess): Promise<Database | undefined>;
  /** What the engine says, as an error that says what to do; without secrets. `where` is what `findRefused` found. */
  describeFailure(thrown: unknown, where?: string): SyncError;

  /** Names what all that publish there in this process share, where one commit undoes the others under way. */
  readonly turn?: string;
  /** Whether a transaction failed because others committed meanwhile, to whatever table: nothing of it is there. */
  readonly isConflict?: (thrown: unknown) => boolean;

  /** Prepares the transaction of a publish, before anything is read in it. */
  begin?(session: SqlSession, lease?: Lease): Promise<void>;
  /** At a takeover: ends what overtaken runs have open there, where that could keep others waiting. */
  endOvertaken?(session: SqlSession, lease: Lease): Promise<void>;
  /** Where in the work file the value is that it refused, as people call it; undefined where that is not the cause. */
  findRefused?(session: SqlSession, thrown: unknown): Promise<string | undefined>;

  /** Whether it holds HUGEINT exactly. Otherwise another type is chosen by the values. */
  readonly holdsHuge?: boolean;
  /** The type that it has for one of the work file. */
  chooseType(type: string): string;
  /** Which of these names tables or views of a schema have. */
  findTaken(session: SqlSession, schema: string, names: readonly string[]): Promise<readonly string[]>;
  /** What became of the tables since they were published. */
  inspect(session: SqlSession, recorded: Recorded): Promise<Inspection>;
  /** What may change rows of our tables while they are written, e.g. `the trigger t`, by the table's name: `main.items`. */
  findInterference?(session: SqlSession): Promise<ReadonlyMap<string, string>>;
  /** Does what a table needs before it is made or gets columns. */
  prepareColumns?(session: SqlSession, table: StoredTable): Promise<void>;
  /** Whether a table that is there takes no change of its columns any more. */
  isStuck?(session: SqlSession, table: StoredTable): Promise<boolean>;
  /** Makes a table empty, with the columns that it should have, or creates it. */
  makeEmpty(session: SqlSession, table: StoredTable, before: FoundTable | undefined): Promise<void>;
  /** Adds a column, where the engine's own statement would give it another type. */
  addColumn?(session: SqlSession, table: StoredTable, column: StoredColumn): Promise<void>;
  /**
   * Writes comments that differ from those there, in the transaction of the publish. Those that others wrote stay, and
   * so do all of them where the table cannot be commented on now.
   */
  comment?(session: SqlSession, wanted: readonly RelationComments[]): Promise<void>;
  /** Gives a table its partitions. */
  partition?(session: SqlSession, table: StoredTable): Promise<void>;
  /** Writes into the transaction whose it is. */
  sign?(session: SqlSession, commit: Signature): Promise<void>;
  /** Records what `inspect` compares, in the transaction of the commit. */
  record?(session: SqlSession): Promise<void>;
  /** Records what `inspect` compares, after the commit. A kill before it costs time, and nothing else. */
  settle?(session: SqlSession, tables: ReadonlyMap<string, TableWrites>): Promise<void>;
  /**
   * What to do about files of tables that are gone: an engine removes those of a commit whose answer was lost, though the
   * catalog has that commit.
   */
  readonly lostFiles?: LostFiles;
  /** What reading all rows does not show, in a lakehouse that is open as a work file. */
  findDamages?(session: SqlSession): Promise<readonly Damage[]>;
  /** Bytes of all data files. */
  measure?(session: SqlSession): Promise<number>;
  /** Makes views of the tables; undefined where that is not possible. */
  readonly views?: ViewKeeper;
  /** Removes what nobody needs any more, or says who does. */
  readonly upkeep: Upkeep;
}

/** How a lakehouse is kept small. */
export type Upkeep =
  | OwnUpkeep
  | {
      readonly by: 'another engine' | 'itself';
      /** Where values are that were excluded or masked, and how they are removed there. */
      readonly leftovers: string;
    };

/** Sluice removes what nobody needs any more. */
export interface OwnUpkeep {
  readonly by: 'sluice';
  maintain(database: Database, work: Maintenance): Promise<void>;
}

/** How a lakehouse is opened. */
export interface LakehouseAccess {
  /** `create` makes it where there is none. */
  readonly mode: 'create' | 'read';
  /** Absolute path of the file that is open with it as `work`; by default one in memory. */
  readonly file?: string;
  /** Whether that file is written. */
  readonly writesFile?: boolean;
  /** For what does not fit into memory. */
  readonly folders?: readonly string[];
  /** Called with the file alone: a list of its tables would ask an open lakehouse about each of those that it has. */
  readonly readFile?: ((session: SqlSession) => Promise<void>) | undefined;
  /** Called before the engine is locked: it may still attach and create anything in `work`. */
  readonly prepare?: (session: SqlSession) => Promise<void>;
  /** Ends the wait for others of this process. */
  readonly signal?: AbortSignal | undefined;
  /** Called once it is closed. */
  readonly onClosed?: () => void;
}

/** How tables are repaired whose files are gone. */
export interface LostFiles {
  /** Whether that is what an error says. */
  isMeant(thrown: unknown): boolean;
  /** SQL behind `CREATE TABLE` that says whose tables these are, where no file has to be read for it. */
  label(owner: ReadonlyMap<string, string>): string;
  /** Reads that again; undefined where it is not said. */
  readOwner(session: SqlSession): Promise<ReadonlyMap<string, string> | undefined>;
  /** Removes our tables, those of these names as well; one of others stays. May be repeated after a kill. */
  drop(session: SqlSession, names: readonly string[]): Promise<void>;
}

/** Names a commit. */
export interface Signature {
  readonly generation: string;
  readonly runId: string;
}

/** What was published last. */
export interface Recorded {
  /** Undefined while the first publish was cut off. */
  readonly generation: string | undefined;
  /** By name in the work file: `main.items`. */
  readonly tables: ReadonlyMap<string, RecordedTable>;
}

/** A table as it was published last. */
export interface RecordedTable {
  readonly columns: readonly StoredColumn[];
  /** SQL of its partitions; empty without. */
  readonly partitions: string;
}

/** A column, and the type that the lakehouse holds it as. */
export interface StoredColumn {
  readonly name: string;
  readonly type: string;
  readonly storedAs: string;
}

/** A table of the work file, and how the lakehouse holds it. */
export interface StoredTable extends RecordedTable {
  /** `main.items`. */
  readonly name: string;
  readonly schema: StoredSchema;
  readonly table: string;
  /** The column whose days divide the rows into parts. */
  readonly datedBy: StoredColumn | undefined;
}

/** Whether a table is there with the columns that were published: another program may have dropped or altered it. */
export type Found = 'as published' | 'altered' | 'gone';

/** A table as it was published last, and what became of it. */
export interface FoundTable extends RecordedTable {
  readonly found: Found;
}

/** What became of tables since they were published. */
export interface Inspection {
  /** By name. */
  readonly found: ReadonlyMap<string, Found>;
  /** Names of tables whose rows may differ from those that were published. */
  readonly touched: ReadonlySet<string>;
  /** What each table was, where a commit does not say what it follows. */
  readonly seen?: ReadonlyMap<string, SeenTable>;
}

/** A table at one moment. */
export interface SeenTable {
  /** Of the table, whatever its rows. */
  readonly id: string;
  /** Counts the statements that changed its rows, also those of other programs. */
  readonly sequence: number;
}

/** What a publish wrote to a table. */
export interface TableWrites {
  /** The table before; undefined if it was made. */
  readonly seen: SeenTable | undefined;
  /** Statements that changed rows; undefined where that is not known. */
  readonly statements: number | undefined;
}

/** How much is removed, and of which tables. */
export interface Maintenance extends Recorded, Extent {
  /** Called in each transaction; throws where another program may have changed rows, which a commit of ours would hide. */
  readonly refuseTouched: () => Promise<void>;
}

/** How much is removed. */
export interface Extent {
  readonly nowMs: number;
  /** Snapshots and files stay this long after something newer took their place. */
  readonly keepMs: number;
}
