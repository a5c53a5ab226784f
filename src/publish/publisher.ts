import type { EntryKind } from '../model/account.ts';
import type { Clock } from '../model/clock.ts';
import type { StorageError, SyncError } from '../model/errors.ts';
import type { CheckItem, PublishedFault } from '../model/reports.ts';
import type { RunReport } from '../model/run-report.ts';
import type { Checkpoint } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import type { TableFingerprint } from '../warehouse/fingerprint-tables.ts';

/**
 * Publishes committed tables to one destination. It holds no cursor, so it may be killed at any point and repeated.
 * Nothing here supposes a file: a destination may be a folder, an object store or a server.
 */
export type Publisher = OpenPublisher | ClosedPublisher;

/** Reads the rows from the open work file. Decides by itself whether there is something to publish. */
export interface OpenPublisher extends AnyPublisher {
  readonly needs: 'open';
  /**
   * Publishes whole or not at all; undefined if the destination holds this commit already.
   *
   * @throws PublishError: what readers see is unchanged, or whole
   */
  publish(commit: OpenCommit): Promise<PublishResult | undefined>;
}

/** Takes the work file itself, which is closed and checkpointed for it. */
export interface ClosedPublisher extends AnyPublisher {
  readonly needs: 'closed';
  /** Whether the destination does not hold a commit yet, or not whole: the work file is closed only then. */
  isDue(generation: string): Promise<boolean>;
  /** Called while the work file still says that the tables lost values; a kill after it must not forget that. */
  promiseToForget?(): void;
  /**
   * Publishes whole or not at all.
   *
   * @throws PublishError: what readers see is unchanged, or whole
   */
  publish(commit: ClosedCommit): Promise<PublishResult>;
}

interface AnyPublisher {
  /** The key under `destination` in the config. */
  readonly name: string;
  /** What it publishes, as people call it in items of `verify`, e.g. `published file`. */
  readonly title: string;
  /** Where, as people see it: a path or an address. No two publishers of a config have the same. */
  readonly place: string;
  /** How a list of destinations shows it, where the place alone does not say what it is. */
  readonly label?: string;
  /** Where that is on this machine; undefined for a destination elsewhere. */
  readonly local?: LocalPlace;
  /** The state that is published together with the rows, from which a new container continues. */
  readonly state?: CarriedState;

  /**
   * Looks whether this may be published to, before a request is spent.
   *
   * @throws PublishError or ConfigError (2) for anything that is there and is not ours, or of another source
   */
  claim(): Promise<void>;
  /** What readers see; undefined before the first publish. Throws for something that is not ours. */
  inspect(): Promise<PublishedState | undefined>;
  /** What changed since it was published; quick, so that large files are not read. */
  findFaults?(): Promise<readonly PublishedFault[]>;
  /**
   * Reads everything that readers depend on.
   *
   * @throws StorageError for what cannot be read
   */
  tryReading?(): Promise<void>;
  /**
   * Proves what is published, and adds items that say what was found.
   *
   * @returns what it holds, to be compared with the work file; undefined if that cannot be read
   */
  verify(kit: VerifyKit): Promise<PublishedFacts | undefined>;
}

/** Places on this machine that a publisher uses, absolute. */
export interface LocalPlace {
  /** Locked for a run, with its links followed: the same for every name of the place. */
  readonly target: string;
  /** The folder whose disk takes the published data. */
  readonly folder: string;
  /** Folders that the engine reads and writes while the work file is open. */
  readonly engineFolders: readonly string[];
  /**
   * Tells which paths below the place, with `/`, this publisher makes; of a place that is a file, the names next to it.
   * Whatever else lies there belongs to somebody else. Without it, removing an account leaves what is published. Throws
   * for a place that cannot be understood.
   */
  readonly findOwn?: () => (path: string, kind: EntryKind) => boolean;
}

/** What is published. */
export interface PublishedState {
  /** The commit that readers see; undefined if it cannot be read. */
  readonly generation: string | undefined;
  /**
   * Whether it was recognised, without reading it, as what this state folder published last; undefined where that cannot
   * be seen.
   */
  readonly isLeft: boolean | undefined;
  /** Bytes that it takes as a whole, where that is known. */
  readonly bytes?: number | undefined;
  /** Reads which runs led to it. */
  readLineage(): Promise<Lineage>;
}

/** The commits that a file or a destination holds. */
export interface Lineage {
  readonly generation: string | undefined;
  /** Start of each run by id, ms: equal ids given by users may be different runs. Empty if they are not known. */
  readonly runs: ReadonlyMap<string, number>;
}

/** The state that a destination carries. */
export interface CarriedState {
  /** The part that has it, as people know it, e.g. `lake.duckdb`. */
  readonly part: string;
  /** Whether a work file can be restored from it. */
  isHeld(): Promise<boolean>;
  /** Why rows are published whose state is gone; undefined if it is there, or if nothing is published. */
  findLoss(): Promise<StorageError | undefined>;
  /**
   * Creates a work file from what is published, whole or not at all.
   *
   * @throws StorageError for what cannot be read, or is not what was published
   */
  restore(file: string): Promise<void>;
}

/** What is published, and what a publisher may use for it. */
export interface Commit {
  /** Names the commit: what holds it already is left alone. */
  readonly generation: string;
  readonly runId: string;
  /** The tables lost values that the destination must not keep either. */
  readonly mustForget: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /**
   * Call with the commit that is there, right before it is replaced: another run may have published since `claim`, or
   * may hold the state by now. Undefined if there is none that another run could have published. Throws if it must stay.
   */
  readonly look: (generation: string | undefined) => Promise<void>;
  readonly warn: (message: string) => void;
}

export interface OpenCommit extends Commit {
  /** The work file: tables in schema `main`, state in `_sluice`. */
  readonly work: Database;
  /** Call once it is known that there is something to publish. */
  readonly begin: () => void;
}

export interface ClosedCommit extends Commit {
  /** Absolute path of the work file. */
  readonly file: string;
}

/** What a publish came to. */
export interface PublishResult {
  /** Bytes that were written; 0 where that is not known. */
  readonly bytes: number;
  /** Its part of the run's report. */
  readonly report: NonNullable<RunReport['published']>;
}

/** What a file or a destination holds, read once. */
export interface HeldFacts {
  readonly generation: string | undefined;
  readonly checkpoints: readonly Checkpoint[];
  readonly tables: ReadonlyMap<string, TableFingerprint>;
}

/** The same of a destination, and how it is compared. */
export interface PublishedFacts extends HeldFacts {
  /** Name of the item that says so. */
  readonly comparedAs: string;
  /** Tables that the destination fills by itself, and why. */
  readonly own?: { readonly tables: readonly string[]; readonly why: string };
}

/** What `verify` gives a publisher. */
export interface VerifyKit {
  /** Nothing that was read before holds the rows as well. */
  readonly isAlone: boolean;
  /** There is a work file, from which a sync publishes again. */
  readonly hasWork: boolean;
  /** The same, or another destination has the state: something was synced. */
  readonly wasSynced: boolean;
  /** Adds an item named by the publisher's title. */
  add(status: CheckItem['status'], detail: string, fix?: string): void;
  /** Adds that nothing is published: a failure, unless a run may just be doing that. */
  addMissing(detail: string, fix: string): void;
  /** Reads a database through which everything that is published can be read, and adds what that shows. */
  read(source: ReadSource): Promise<HeldFacts | undefined>;
}

/** A database of a destination. */
export interface ReadSource {
  /** Its name for people. */
  readonly path: string;
  /** @param folders for what does not fit into memory */
  open(folders: readonly string[]): Promise<Database>;
  /** Rows that are not those that were published, found without the work file. */
  findDamages?(database: Database, tables: HeldFacts['tables']): Promise<readonly Damage[]>;
  /** What an error was about, where its own words do not say it. */
  explain?(error: SyncError, database: Database | undefined): Promise<Damage>;
}

/** A sentence about what is damaged, and one that says what repairs it. */
export type Damage = readonly [detail: string, fix: string];
