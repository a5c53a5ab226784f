import type { EntryKind } from '../model/account.ts';
import type { Clock } from '../model/clock.ts';
import type { StorageError, SyncError } from '../model/errors.ts';
import type { CheckItem, MaintainedDestination, PublishedFault } from '../model/reports.ts';
import type { RunReport } from '../model/run-report.ts';
import type { Checkpoint } from '../model/stream.ts';
import type { Lease } from '../model/state-lock.ts';
import type { Database } from '../warehouse/database.ts';
import type { TableFingerprint } from '../warehouse/fingerprint-tables.ts';

/**
 * Publishes committed tables to one destination. It holds no cursor, so it may be killed at any point and repeated.
 * A destination may be a file, a folder, an object store or a server.
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
  /** Whether the destination lacks a commit, or a part of it: the work file is closed only then. */
  isDue(generation: string): Promise<boolean>;
  /** Called while the work file still records that values were removed: that must survive a kill. */
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
  /** The place as people see it: a path or an address, unique within a config. */
  readonly place: string;
  /** Shown in lists of destinations, if the place alone does not say what it is. */
  readonly label?: string;
  /** Its place on this machine; undefined for a remote destination. */
  readonly local?: LocalPlace;
  /** The state that is published with the rows; a new container continues from it. */
  readonly state?: CarriedState;

  /**
   * Checks that it may publish here, before a request is spent.
   *
   * @param signal ends the wait for other runs of this process
   * @throws PublishError or ConfigError (2) for a place that is not ours, or has rows of another source
   */
  claim(signal?: AbortSignal): Promise<void>;
  /**
   * Called after `claim` where the last holder of the state's lease may still be at work. From then on nothing that it
   * publishes becomes visible: a commit of a lower token fails as a whole. May be repeated.
   *
   * @throws LostLockError (75) if a later holder was here; PublishError
   */
  takeOver?(lease: Lease): Promise<void>;
  /** What readers see; undefined before the first publish. Throws for something that is not ours. */
  inspect(): Promise<PublishedState | undefined>;
  /** Changes since the last publish, found quickly: large files are not read. */
  findFaults?(): Promise<readonly PublishedFault[]>;
  /**
   * Reads everything that readers depend on.
   *
   * @throws StorageError for what cannot be read; LockedError while another program has it open for writing
   */
  tryReading?(): Promise<void>;
  /**
   * Checks what is published, and adds an item for each finding.
   *
   * @returns its content, to compare with the work file; undefined if it cannot be read
   */
  verify(kit: VerifyKit): Promise<PublishedFacts | undefined>;
  /** Called when its rows differ from those of the work file: the next publish compares all of them, and repairs them. */
  promiseToCompare?(): void;
  /**
   * Removes old snapshots and joins small files, whether that is due or not. The state lock is held.
   *
   * @throws PublishError if it failed: readers see the same rows as before
   */
  maintain?(effects: Pick<Commit, 'clock' | 'signal'>): Promise<MaintainedDestination>;
}

/** Places on this machine that a publisher uses, absolute. */
export interface LocalPlace {
  /** Locked during a run. Links are followed, so every name of the place gives the same path. */
  readonly target: string;
  /** All of it that a run reads or writes; runs of one process with different parts may hold the target together. */
  readonly part?: string;
  /** A folder on the disk that stores the published data. */
  readonly folder: string;
  /** Folders that the engine reads and writes while the work file is open. */
  readonly engineFolders: readonly string[];
  /**
   * Returns a test for paths that this publisher writes: below a folder, with `/`, or next to a file. Other files there
   * belong to others. Without it, removing an account keeps what is published. Throws for a place that cannot be
   * understood.
   */
  readonly findOwn?: () => (path: string, kind: EntryKind) => boolean;
}

/** What is published. */
export interface PublishedState {
  /** The commit that readers see; undefined if it cannot be read. */
  readonly generation: string | undefined;
  /**
   * Whether it is what this state folder published last, recognised without reading it; undefined if that cannot be
   * seen.
   */
  readonly isLeft: boolean | undefined;
  /** Its size in bytes, if known. */
  readonly bytes?: number | undefined;
  /** Reads the runs that led to it. */
  readLineage(): Promise<Lineage>;
}

/** The commits in a file or a destination. */
export interface Lineage {
  readonly generation: string | undefined;
  /** Start of each run by id, ms: equal ids given by users may be different runs. Empty if they are not known. */
  readonly runs: ReadonlyMap<string, number>;
  /** Times (ms) that later starts were set to, once the clock that had recorded them was right again. */
  readonly corrected?: ReadonlySet<number>;
}

/** The state that a destination carries. */
export interface CarriedState {
  /** The part that contains it, as people know it, e.g. `lake.duckdb`. */
  readonly part: string;
  /** Whether a work file can be restored from it. */
  isHeld(): Promise<boolean>;
  /** The error if rows are published and their state is missing; undefined otherwise. */
  findLoss(): Promise<StorageError | undefined>;
  /**
   * Creates a work file from what is published, whole or not at all.
   *
   * @throws StorageError for what cannot be read, or is not what was published
   */
  restore(file: string): Promise<void>;
}

/** A commit to publish, and what a publisher needs for it. */
export interface Commit {
  /** Names the commit: a destination that has it is left alone. */
  readonly generation: string;
  readonly runId: string;
  /** Values were removed that the destination must not keep either. */
  readonly mustForget: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /**
   * Call with the commit at the destination right before it is replaced: another run may have published since `claim`, or
   * may hold the state. Undefined if no other run can have published. Throws if the commit must stay. It confirms the
   * lease: what may still come after it has to fail once `takeOver` was called elsewhere.
   */
  readonly look: (generation: string | undefined) => Promise<void>;
  readonly warn: (message: string) => void;
  /** The lease of this run; undefined for a lock that only its holder can end. */
  readonly lease?: Lease | undefined;
}

export interface OpenCommit extends Commit {
  /** The work file: tables in schema `main`, state in `_sluice`. */
  readonly work: Database;
  /** Call when there is something to publish. */
  readonly begin: () => void;
}

export interface ClosedCommit extends Commit {
  /** Absolute path of the work file. */
  readonly file: string;
}

/** Result of a publish. */
export interface PublishResult {
  /** Bytes written; 0 if not known. */
  readonly bytes: number;
  /** Its part of the run's report. */
  readonly report: NonNullable<RunReport['published']>;
}

/** Content of a file or a destination, read once. */
export interface HeldFacts {
  readonly generation: string | undefined;
  readonly checkpoints: readonly Checkpoint[];
  readonly tables: ReadonlyMap<string, TableFingerprint>;
}

/** Content of a destination, and how it is compared. */
export interface PublishedFacts extends HeldFacts {
  /** Name of the item with the result. */
  readonly comparedAs: string;
  /** What a table of the work file, as `main.items`, is called there. */
  readonly nameTable?: (name: string) => string;
  /** Tables that only the destination fills, and why. */
  readonly own?: { readonly tables: readonly string[]; readonly why: string };
}

/** What `verify` provides to a publisher. */
export interface VerifyKit {
  /** No destination that was checked before has these rows. */
  readonly isAlone: boolean;
  /** There is a work file: a sync can publish again. */
  readonly hasWork: boolean;
  /** The work file has committed rows, or cannot be looked into, or another destination has the state. */
  readonly wasSynced: boolean;
  /** Adds an item named by the publisher's title. */
  add(status: CheckItem['status'], detail: string, fix?: string): void;
  /** Adds that nothing is published: a failure, unless a run may be publishing right now. */
  addMissing(detail: string, fix: string): void;
  /** Reads everything that is published through a database, and adds an item for each finding. */
  read(source: ReadSource): Promise<HeldFacts | undefined>;
}

/** A database of a destination. */
export interface ReadSource {
  /** Its name for people. */
  readonly path: string;
  /** @param folders for what does not fit into memory */
  open(folders: readonly string[]): Promise<Database>;
  /** Rows that differ from those published, found without the work file. */
  findDamages?(database: Database, tables: HeldFacts['tables']): Promise<readonly Damage[]>;
  /** Explains an error whose message is not enough. */
  explain?(error: SyncError, database: Database | undefined): Promise<Damage>;
}

/** A sentence about the damage, and one about the fix. */
export type Damage = readonly [detail: string, fix: string];
