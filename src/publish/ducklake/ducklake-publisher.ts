import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { assertIdentity } from '../../../state/owner.ts';
import { writeFileAtomically } from '../../../state/run-file.ts';
import { resolveLinks } from '../../files/real-paths.ts';
import type { DuckLakeDestination } from '../../model/destination.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Database } from '../../warehouse/database.ts';
import { historyOf } from '../../warehouse/evolve-table.ts';
import { interruptOnAbort } from '../../warehouse/interrupt-on-abort.ts';
import { assertWritable } from '../assert-writable.ts';
import { readLineage } from '../lineage.ts';
import { REPUBLISH_FIX, SYNC_FIX } from '../published-file.ts';
import type {
  CarriedState,
  ClosedCommit,
  ClosedPublisher,
  LocalPlace,
  PublishedFacts,
  PublishedState,
  PublishResult,
  VerifyKit,
} from '../publisher.ts';
import { describeFailure } from './describe-failure.ts';
import { type HeldLake, listLakeTables, readHeldLake } from './lake-state.ts';
import { isMaintenanceDue, maintainLake } from './maintain-lake.ts';
import { OWN_TABLES, toLakeSchema } from './names.ts';
import { isRemote, openLake } from './open-lake.ts';
import { describeTaken, publishToLake } from './publish-ducklake.ts';
import { openAsWorkFile, restoreFromLake } from './read-lake.ts';

/** What a look at the lake found. */
interface Look {
  /** Undefined before the first publish. */
  readonly held: HeldLake | undefined;
}

/** Publishes the tables to a DuckLake, each commit in one transaction of it. */
export class DuckLakePublisher implements ClosedPublisher {
  readonly name = 'ducklake';
  readonly title = 'DuckLake';
  readonly needs = 'closed';
  readonly place: string;
  readonly label: string;
  readonly local?: LocalPlace;
  readonly state: CarriedState;
  readonly #lake: DuckLakeDestination;
  readonly #settings: OfflineSettings;
  /** What `claim` saw, until a publish changes it. */
  #seen: Look | undefined;

  constructor(lake: DuckLakeDestination, settings: OfflineSettings) {
    this.place = lake.path;
    this.label = `${lake.path} (DuckLake)`;
    this.#lake = lake;
    const local = findLocal(lake);
    if (local !== undefined) this.local = local;
    this.#settings = settings;
    this.state = {
      part: `schema ${toLakeSchema(lake.schema, '_sluice')}`,
      isHeld: async () => (await this.#look()).held !== undefined,
      findLoss: () => Promise.resolve(undefined),
      restore: (file) => restoreFromLake(lake, file, join(settings.stateDir, 'tmp')),
    };
  }

  async claim(): Promise<void> {
    const { catalog, data, path } = this.#lake;
    const instead = 'another place in destination.ducklake';
    if (catalog.kind === 'sqlite')
      assertWritable({ folder: dirname(catalog.file), what: basename(catalog.file), instead });
    if (!isRemote(data)) assertWritable({ folder: data, what: 'the data of the DuckLake', instead });
    this.#seen = await this.#read(async (database, held) => {
      if (held !== undefined) assertIdentity(held.meta, this.#settings, path);
      await this.#refuseForeign(database, held);
    });
  }

  async inspect(): Promise<PublishedState | undefined> {
    const { held } = this.#seen ?? (await this.#look());
    if (held === undefined) return undefined;
    const readLake = async () => {
      const database = await openAsWorkFile(this.#lake, []);
      return readLineage(database).finally(() => database.release());
    };
    return { generation: held.generation, isLeft: undefined, readLineage: readLake };
  }

  async isDue(generation: string): Promise<boolean> {
    if (existsSync(this.#promise)) return true;
    const { held } = this.#seen ?? (await this.#look());
    return held?.generation !== generation || held.isTouched;
  }

  /** Old snapshots are removed after the commit, which a kill may prevent. */
  promiseToForget(): void {
    writeFileAtomically(this.#promise, '{}\n');
  }

  get #promise(): string {
    return join(this.#settings.stateDir, 'forget-lake.json');
  }

  async publish(commit: ClosedCommit): Promise<PublishResult> {
    const { generation, runId, look, file, signal } = commit;
    const lake = this.#lake;
    this.#seen = undefined;
    const folders = [join(this.#settings.stateDir, 'tmp')];
    const database = await openLake(lake, { mode: 'create', file, folders });
    if (database === undefined) throw new TypeError('a lake was not made');
    try {
      const before = await measureFiles(database);
      const nowMs = commit.clock.now();
      const job = { database, lake, streams: this.#settings.streams, generation, runId, nowMs, look };
      const change = await interruptOnAbort(database, signal, () => publishToLake(job));
      const { tables, inserted, deleted } = change;
      // Small changes are kept in the catalog, and make no file.
      const bytes = Math.max(inserted + deleted, (await measureFiles(database)) - before);
      await this.#maintain(database, commit, change.maintainedAtMs);
      const { path } = lake;
      const ducklake = { path, tables, rowsInserted: inserted, rowsDeleted: deleted };
      return { bytes, report: { path, bytes, ducklake } };
    } catch (error) {
      throw describeFailure(lake, error);
    } finally {
      await database.release();
    }
  }

  /** Once a day, and after values were masked: older snapshots and files still have them. */
  async #maintain(
    database: Database,
    { clock, signal, warn }: ClosedCommit,
    maintainedAtMs: number,
  ): Promise<void> {
    const { schema, path } = this.#lake;
    const nowMs = clock.now();
    const mustForget = existsSync(this.#promise);
    if (!mustForget && !isMaintenanceDue(maintainedAtMs, nowMs)) return;
    const held = await readHeldLake(database, this.#lake);
    if (held === undefined) return;
    const keepMs = mustForget ? 0 : this.#settings.retention.lakeMs;
    try {
      await interruptOnAbort(database, signal, () => maintainLake({ database, schema, held, nowMs, keepMs }));
      rmSync(this.#promise, { force: true });
    } catch (thrown) {
      // Values that must go are not gone yet: the next run has to try again.
      if (mustForget || signal?.aborted === true) throw thrown;
      warn(
        `${path} was not maintained, and will be after the next sync: ${describeFailure(this.#lake, thrown).message}`,
      );
    }
  }

  async verify(kit: VerifyKit): Promise<PublishedFacts | undefined> {
    const { path } = this.#lake;
    try {
      const { held } = await this.#look();
      if (held === undefined) {
        kit.addMissing(`nothing is published to ${path}`, kit.wasSynced ? REPUBLISH_FIX : SYNC_FIX);
        return undefined;
      }
      const changed = [...held.tables].filter(([, { found }]) => found !== 'as published');
      for (const [name, { found }] of changed)
        kit.add('failed', `another program changed the lake: ${name} is ${found}`, REPUBLISH_FIX);
      if (changed.length > 0) return undefined;
    } catch (thrown) {
      const { message, hint } = describeFailure(this.#lake, thrown);
      kit.add('failed', message, hint);
      return undefined;
    }
    const facts = await kit.read({
      path,
      open: (folders) => openAsWorkFile(this.#lake, folders),
      explain: (error) => {
        const { message, hint } = describeFailure(this.#lake, error);
        return Promise.resolve([message, hint] as const);
      },
    });
    return facts && { ...facts, comparedAs: this.title };
  }

  /** Reads what the lake holds of ours. */
  #look(): Promise<Look> {
    return this.#read(() => Promise.resolve());
  }

  async #read(look: (database: Database, held: HeldLake | undefined) => Promise<void>): Promise<Look> {
    const database = await openLake(this.#lake, { mode: 'read' });
    if (database === undefined) return { held: undefined };
    try {
      const held = await readHeldLake(database, this.#lake);
      await look(database, held);
      return { held };
    } catch (error) {
      throw describeFailure(this.#lake, error);
    } finally {
      await database.release();
    }
  }

  async #refuseForeign(database: Database, held: HeldLake | undefined): Promise<void> {
    const { schema, path } = this.#lake;
    const wanted = {
      main: this.#settings.streams.flatMap(({ table }) => [table, historyOf(table)]),
      _sluice: ['meta', ...Object.values(OWN_TABLES)],
    };
    for (const stored of ['main', '_sluice'] as const) {
      const inLake = toLakeSchema(schema, stored);
      const isOwn = (name: string) =>
        held?.tables.has(`${stored}.${name}`) === true || (held !== undefined && stored === '_sluice');
      const taken = (await listLakeTables(database, inLake)).find(
        (name) => wanted[stored].includes(name) && !isOwn(name),
      );
      if (taken !== undefined) throw describeTaken(path, `${inLake}.${taken}`);
    }
  }
}

/** Undefined where nothing of the lake is on this machine: a server has locks of its own. */
function findLocal({ catalog, data }: DuckLakeDestination): LocalPlace | undefined {
  const file = catalog.kind === 'sqlite' ? catalog.file : undefined;
  const folder = isRemote(data) ? file && dirname(file) : data;
  if (folder === undefined) return undefined;
  return { target: resolveLinks(file ?? folder), folder, engineFolders: [] };
}

/** Bytes of all data files of the lake. */
function measureFiles(database: Database): Promise<number> {
  return database.count(
    `SELECT coalesce(sum(file_size_bytes + delete_file_size_bytes), 0) FROM ducklake_table_info('lake')`,
  );
}
