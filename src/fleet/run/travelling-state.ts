import { mkdir, rename, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import type { Clock } from '../../model/clock.ts';
import { StorageError, SyncError } from '../../model/errors.ts';
import { moveLedgers } from './ledger-times.ts';
import type { StateStore } from '../store/state-store.ts';

/** A file, and the name of the object that it is or becomes: what is packed for one name cannot be opened as another. */
export interface NamedFile {
  readonly file: string;
  readonly name: string;
}

/** Packs state folders, encrypted. */
export interface Parcels {
  /** @param leavesRows leaves out the work file: a destination holds its rows */
  pack(stateDir: string, target: NamedFile, leavesRows: boolean): Promise<void>;
  /** Packs only staged pages, also while a run adds to them. */
  packStage(stateDir: string, target: NamedFile): Promise<void>;
  /** Fills a folder, or leaves it as it is. Throws StorageError or ConfigError for what cannot be opened. */
  unpack(source: NamedFile, folder: string): Promise<void>;
}

/** What a state needs to travel. */
export interface StateTravel {
  readonly store: StateStore;
  readonly parcels: Parcels;
  readonly clock: Clock;
  /** How far the clock that all machines share is ahead of this one's, ms. */
  readonly readClockLead: () => Promise<number>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A worker that was told to stop waits so long for a store that is away: then somebody kills it anyway. */
const STOPPING_PATIENCE_MS = 60_000;

/** What ends the patience with a store that is away. */
export interface PutSignals {
  /** The lease is lost: nobody needs the state. */
  readonly lost: AbortSignal;
  /** The worker stops. */
  readonly stop: AbortSignal;
}

/** Where one run fetches the state of its account from and puts it away to; owns a scratch folder. */
export class TravellingState {
  readonly stateDir: string;
  readonly #travel: StateTravel;
  readonly #folder: string;
  /** Begins the names of all that this run puts away: no other run has its token. */
  readonly #prefix: string;
  #puts = 0;
  #clockLeadMs = 0;
  /** Everything that this run has put away. */
  #made: readonly string[] = [];

  constructor(
    travel: StateTravel,
    {
      account,
      token,
      scratch,
    }: { readonly account: string; readonly token: number; readonly scratch: string },
  ) {
    this.#travel = travel;
    this.#folder = join(scratch, `${account}-${token}`);
    this.#prefix = `${account}/${token}`;
    this.stateDir = join(this.#folder, 'state');
  }

  /** How far the clock that all machines share was ahead of this one's when the run began, ms. */
  get clockLeadMs(): number {
    return this.#clockLeadMs;
  }

  /** Makes the scratch folder and fills it with what the last run left. */
  async fetch(object: string | undefined, stages: readonly string[]): Promise<void> {
    await this.clear();
    makeFolders(this.stateDir, 0o700);
    this.#clockLeadMs = await this.#travel.readClockLead();
    if (object !== undefined) await this.#fetchInto(object, this.stateDir);
    await moveLedgers(this.stateDir, -this.#clockLeadMs);
    for (const name of stages) await this.#layStage(name);
  }

  /** Puts the state folder away; repeats while the store is away. Returns the name and size of the object. */
  async put(
    leavesRows: boolean,
    signals: PutSignals,
  ): Promise<{ readonly name: string; readonly bytes: number }> {
    const target = this.#target('state');
    // The clock may have been set since; without an answer, it counts as it was.
    await moveLedgers(this.stateDir, await this.#travel.readClockLead().catch(() => this.#clockLeadMs));
    await this.#travel.parcels.pack(this.stateDir, target, leavesRows);
    const { size } = await stat(target.file);
    this.#made = [...this.#made, target.name];
    await this.#putPatiently(target, signals);
    await rm(target.file, { force: true });
    return { name: target.name, bytes: size };
  }

  /** Puts staged pages away during a run; undefined if there are none. Tries once. */
  async putStage(): Promise<{ readonly name: string; readonly folders: readonly string[] } | undefined> {
    const folders = await listFolders(join(this.stateDir, 'stage'));
    if (folders.length === 0) return undefined;
    const target = this.#target('pages');
    try {
      await this.#travel.parcels.packStage(this.stateDir, target);
      this.#made = [...this.#made, target.name];
      await this.#travel.store.put(target.name, target.file);
      return { name: target.name, folders };
    } finally {
      await rm(target.file, { force: true });
    }
  }

  /**
   * Removes what nobody needs any more after the end of the run was committed.
   *
   * @param kept the object that the account has now
   * @param earlier what the account had before
   */
  async removeOld(kept: string, earlier: readonly string[]): Promise<void> {
    await this.#travel.store.remove([...this.#made, ...earlier].filter((name) => name !== kept));
  }

  /** Removes what the run has put away, as it was refused; not what may be recorded with the account. */
  async removeRefused(recorded: ReadonlySet<string>): Promise<void> {
    await this.#travel.store.remove(this.#made.filter((name) => !recorded.has(name)));
  }

  /** Removes what killed runs of the account have left in the store: their tokens are lower. */
  async removeOrphans(
    kept: string | undefined,
    { account, token }: { account: string; token: number },
  ): Promise<void> {
    const found = await this.#travel.store.list(`${account}/`);
    const orphans = found.filter(({ name }) => name !== kept && readToken(name) <= token);
    await this.#travel.store.remove(orphans.map(({ name }) => name));
  }

  /** Removes the scratch folder. */
  async clear(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #target(kind: string): NamedFile {
    this.#puts += 1;
    const name = `${this.#prefix}-${this.#puts}.${kind}`;
    return { name, file: join(this.#folder, `put-${this.#puts}`) };
  }

  async #putPatiently({ name, file }: NamedFile, { lost, stop }: PutSignals): Promise<void> {
    const { store, clock } = this.#travel;
    let untilMs = Infinity;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      try {
        return await store.put(name, file);
      } catch (thrown) {
        // A wrong key or bucket does not change by itself; a store that is away comes back.
        const mayPass = thrown instanceof SyncError && thrown.exitCode === 6;
        if (!mayPass || lost.aborted || clock.monotonic() >= untilMs) throw thrown;
      }
      const isStopping = stop.aborted;
      if (isStopping) untilMs = Math.min(untilMs, clock.monotonic() + STOPPING_PATIENCE_MS);
      const awake = isStopping ? lost : AbortSignal.any([lost, stop]);
      await clock.sleep(Math.min(pauseMs, untilMs - clock.monotonic()), awake).catch(() => undefined);
    }
  }

  async #fetchInto(name: string, folder: string): Promise<void> {
    const { store, parcels } = this.#travel;
    const file = join(this.#folder, 'fetched');
    if (!(await store.get(name, file))) throw describeLost(name, store.place);
    await parcels.unpack({ file, name }, folder);
    await rm(file, { force: true });
  }

  /** What is staged since takes the place of what the state had of these streams. */
  async #layStage(name: string): Promise<void> {
    const folder = join(this.#folder, 'laid');
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    await this.#fetchInto(name, folder);
    makeFolders(join(this.stateDir, 'stage'), 0o700);
    for (const stream of await listFolders(join(folder, 'stage'))) {
      const target = join(this.stateDir, 'stage', stream);
      await rm(target, { recursive: true, force: true });
      await rename(join(folder, 'stage', stream), target);
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** The token of the run that put an object away. */
export function readToken(name: string): number {
  return Number(/\/(\d+)-\d+\.\w+$/.exec(name)?.[1] ?? Infinity);
}

async function listFolders(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}

function describeLost(name: string, place: string): StorageError {
  const account = name.split('/')[0] ?? '';
  return new StorageError(`the state of ${account} is missing in ${place}: there is no object ${name}`, {
    code: 'state_damaged',
    hint: `Put it back, e.g. from an older version of the bucket. If it is lost, run \`sluice fleet repair ${account} --forget-state\`: the next run restores the rows from a destination that holds them, or reads everything again. Nothing was requested.`,
    context: { path: place },
  });
}
