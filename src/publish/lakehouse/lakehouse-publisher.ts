import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertIdentity, describeOwner } from '../../../state/owner.ts';
import { writeFileAtomically } from '../../../state/run-file.ts';
import type { MaintainedDestination } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Lease } from '../../model/state-lock.ts';
import type { Database } from '../../warehouse/database.ts';
import { interruptOnAbort } from '../../warehouse/interrupt-on-abort.ts';
import { readRuns } from '../lineage.ts';
import { adviseForUnpublished, REPUBLISH_FIX } from '../published-file.ts';
import type {
  CarriedState,
  ClosedCommit,
  ClosedPublisher,
  Lineage,
  LocalPlace,
  PublishedFacts,
  PublishedState,
  PublishResult,
  VerifyKit,
} from '../publisher.ts';
import { type HeldTables, holds, readHeldTables } from './held-tables.ts';
import { adviseToRewrite } from './describe-failure.ts';
import { listAltered } from './own-tables.ts';
import { inTurn, repeatInTurn, repeatOnConflict } from './in-turn.ts';
import { maintainOnRequest, maintainTables } from './maintain-tables.ts';
import type { Lakehouse, LostFiles } from './lakehouse.ts';
import { nameInLake, nameThere, OWN_TABLES, toLakeSchema } from './names.ts';
import { openToPublish } from './open-to-write.ts';
import { publishOrRepair } from './publish-or-repair.ts';
import { openAsWorkFile, restoreTables } from './read-tables.ts';
import { refuseForeign } from './refuse-foreign.ts';
import { takeOverLakehouse } from './take-over-tables.ts';

/** Often enough for a few files a table, whatever the number of syncs. */
const MAINTAIN_EVERY_MS = 24 * 3_600_000;

/** What a look into the lakehouse found. */
interface Look {
  /** Undefined before the first publish. */
  readonly held: HeldTables | undefined;
}

/** Publishes the tables to a lakehouse, each commit in one transaction of it. */
export class LakehousePublisher implements ClosedPublisher {
  readonly name: string;
  readonly title: string;
  readonly needs = 'closed';
  readonly place: string;
  readonly label: string;
  readonly local?: LocalPlace;
  readonly state: CarriedState;
  readonly #lakehouse: Lakehouse;
  readonly #settings: OfflineSettings;
  /** What `claim` saw, until a publish changes it. */
  #seen: Look | undefined;

  constructor(lakehouse: Lakehouse, settings: OfflineSettings) {
    const { destination, title, local } = lakehouse;
    this.name = destination.kind;
    this.title = title;
    this.place = destination.path;
    this.label = `${destination.path} (${title})`;
    if (local !== undefined) this.local = local;
    this.#lakehouse = lakehouse;
    this.#settings = settings;
    this.state = {
      part: `schema ${toLakeSchema(destination.schema, '_sluice')}`,
      isHeld: async () => (await this.#look()).held?.generation !== undefined,
      findLoss: () => Promise.resolve(undefined),
      restore: (file) => restoreTables(lakehouse, file, this.#folder),
    };
  }

  async claim(signal?: AbortSignal): Promise<void> {
    const { lostFiles } = this.#lakehouse;
    this.#lakehouse.assertWritable?.();
    const refuse = (database: Database, held: HeldTables | undefined) =>
      refuseForeign(database, this.#lakehouse, { settings: this.#settings, held });
    this.#seen = await this.#read(refuse, signal).catch(async (thrown: unknown) => {
      if (lostFiles?.isMeant(thrown) !== true) throw thrown;
      await this.#claimBroken(lostFiles, thrown);
      return { held: undefined };
    });
  }

  async takeOver(lease: Lease): Promise<void> {
    const owner = new Map(describeOwner(this.#settings));
    this.#seen = undefined;
    const lakehouse = this.#lakehouse;
    await inTurn(lakehouse, () => takeOverLakehouse(lakehouse, { owner, lease, folder: this.#folder }));
  }

  get #folder(): string {
    return join(this.#settings.stateDir, 'tmp');
  }

  /** Files of our tables are gone; the next publish writes the tables again. */
  async #claimBroken(lostFiles: LostFiles, thrown: unknown): Promise<void> {
    const database = await this.#lakehouse.open({ mode: 'read' });
    const owner = database && (await lostFiles.readOwner(database).finally(() => database.release()));
    if (owner === undefined) throw thrown;
    assertIdentity(new Map([...owner, ['generation', '']]), this.#settings, this.place);
  }

  async inspect(): Promise<PublishedState | undefined> {
    const { held } = this.#seen ?? (await this.#look());
    if (held?.generation === undefined) return undefined;
    const { generation } = held;
    return { generation, isLeft: undefined, readLineage: () => this.#readRuns(generation) };
  }

  async #readRuns(generation: string): Promise<Lineage> {
    const { lostFiles, destination } = this.#lakehouse;
    let runs: Lineage['runs'] = new Map();
    try {
      await this.#read(async (database, held) => {
        // The next publish writes a table again that another program altered, or half a commit.
        if (held?.tables.get('_sluice.runs')?.found !== 'as published') return;
        runs = await readRuns(database, nameInLake(destination, '_sluice', 'runs'));
      });
    } catch (thrown) {
      if (lostFiles?.isMeant(thrown) !== true) throw thrown;
    }
    return { generation, runs };
  }

  async isDue(generation: string): Promise<boolean> {
    if (existsSync(this.#promiseTo('forget')) || existsSync(this.#promiseTo('compare'))) return true;
    return !holds((this.#seen ?? (await this.#look())).held, generation);
  }

  /** A file that says what the next publish has to do besides. */
  #promiseTo(what: 'compare' | 'forget'): string {
    return join(this.#settings.stateDir, `${what}-${this.name}.json`);
  }

  /** Old snapshots are removed after the commit, which a kill may prevent. */
  promiseToForget(): void {
    writeFileAtomically(this.#promiseTo('forget'), '{}\n');
  }

  promiseToCompare(): void {
    writeFileAtomically(this.#promiseTo('compare'), '{}\n');
  }

  async publish(commit: ClosedCommit): Promise<PublishResult> {
    const { generation, runId, look, file, signal, clock, lease, warn } = commit;
    const lakehouse = this.#lakehouse;
    const { streams } = this.#settings;
    this.#seen = undefined;
    const { database, comments } = await repeatOnConflict(lakehouse, clock, () =>
      openToPublish(lakehouse, this.#folder, { file, signal }),
    );
    try {
      const before = await lakehouse.measure?.(database);
      const owner = new Map(describeOwner(this.#settings));
      const comparesAll = existsSync(this.#promiseTo('compare'));
      const at = { generation, runId, nowMs: clock.now(), look, lease, warn, comments };
      const job = { database, lakehouse, streams, owner, comparesAll, ...at };
      const change = await interruptOnAbort(database, signal, () =>
        repeatInTurn(lakehouse, clock, () => publishOrRepair(job), signal),
      );
      const { tables = new Map(), inserted, deleted, maintainedAtMs } = change;
      if (change.tables !== undefined) await lakehouse.settle?.(database, tables);
      rmSync(this.#promiseTo('compare'), { force: true });
      const after = await lakehouse.measure?.(database);
      // Small changes may be kept in the catalog, and make no file.
      const bytes = after === undefined ? 0 : Math.max(inserted + deleted, after - (before ?? 0));
      await lease?.confirm();
      await this.#maintain(database, commit, maintainedAtMs);
      const report = { path: this.place, tables: tables.size, rowsInserted: inserted, rowsDeleted: deleted };
      return { bytes, report: { path: this.place, bytes, [this.name]: report } };
    } catch (error) {
      throw lakehouse.describeFailure(error, await lakehouse.findRefused?.(database, error));
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
    const lakehouse = this.#lakehouse;
    const mustForget = existsSync(this.#promiseTo('forget'));
    const { upkeep } = lakehouse;
    if (upkeep.by !== 'sluice') {
      if (mustForget)
        warn(
          `${this.place}: no row that readers see has the values that were excluded or masked; ${upkeep.leftovers}`,
        );
      rmSync(this.#promiseTo('forget'), { force: true });
      return;
    }
    const nowMs = clock.now();
    // A clock that was set back must not keep it from being due.
    if (!mustForget && Math.abs(nowMs - maintainedAtMs) < MAINTAIN_EVERY_MS) return;
    const keepMs = mustForget ? 0 : this.#settings.retention.lakeMs;
    try {
      const maintain = () => maintainTables(lakehouse, upkeep, database, { nowMs, keepMs });
      await interruptOnAbort(database, signal, () => repeatInTurn(lakehouse, clock, maintain, signal));
      rmSync(this.#promiseTo('forget'), { force: true });
    } catch (thrown) {
      // Values that must go are not gone yet: the next run has to try again.
      if (mustForget || signal?.aborted === true) throw thrown;
      const { message } = lakehouse.describeFailure(thrown);
      warn(`${this.place} was not maintained, and will be after the next sync: ${message}`);
    }
  }

  async maintain({ clock, signal }: Pick<ClosedCommit, 'clock' | 'signal'>): Promise<MaintainedDestination> {
    const lakehouse = this.#lakehouse;
    const about = { destination: this.place, title: this.title };
    const { held } = await this.#look();
    if (held?.generation === undefined) return { ...about, outcome: 'nothing is published' };
    assertIdentity(held.meta, this.#settings, this.place);
    const { upkeep } = lakehouse;
    if (upkeep.by !== 'sluice')
      return { ...about, outcome: upkeep.by === 'itself' ? 'not needed' : 'left to another engine' };
    const folder = this.#folder;
    const extent = { nowMs: clock.now(), keepMs: this.#settings.retention.lakeMs };
    const sizes = await maintainOnRequest(lakehouse, upkeep, { folder, extent, clock, signal });
    return { ...about, outcome: 'maintained', ...sizes };
  }

  async verify(kit: VerifyKit): Promise<PublishedFacts | undefined> {
    const lakehouse = this.#lakehouse;
    const nameTable = (name: string) => nameThere(lakehouse.destination.schema, name);
    try {
      let altered: readonly string[] = [];
      const { held } = await this.#read(async (database, found) => {
        if (found?.isListLost === true) altered = [OWN_TABLES.tables];
        else if (found?.generation !== undefined)
          altered = await listAltered(database, lakehouse.destination);
        return found;
      });
      if (held?.generation === undefined) {
        kit.addMissing(`nothing is published to ${this.place}`, adviseForUnpublished(kit.wasSynced));
        return undefined;
      }
      const changed = [...held.tables].filter(([, { found }]) => found !== 'as published');
      for (const [name, { found }] of changed)
        kit.add(
          'failed',
          `another program changed what was published: ${nameTable(name)} is ${found}`,
          REPUBLISH_FIX,
        );
      for (const table of altered)
        kit.add(
          'failed',
          `another program changed ${nameTable(`_sluice.${table}`)}, in which a publish is recorded`,
          held.isListLost
            ? `Restore it. If it is lost, ${adviseToRewrite(lakehouse.destination)}`
            : REPUBLISH_FIX,
        );
      if (changed.length + altered.length > 0) return undefined;
    } catch (thrown) {
      const { message, hint } = lakehouse.describeFailure(thrown);
      kit.add('failed', message, hint);
      return undefined;
    }
    const facts = await kit.read({
      path: this.place,
      open: (folders) => openAsWorkFile(lakehouse, folders),
      findDamages: (database) => lakehouse.findDamages?.(database) ?? Promise.resolve([]),
      explain: (error) => {
        const { message, hint } = lakehouse.describeFailure(error);
        return Promise.resolve([message, hint] as const);
      },
    });
    return facts && { ...facts, comparedAs: this.title, nameTable };
  }

  /** Reads what the lakehouse holds of ours. */
  #look(): Promise<Look> {
    return this.#read((_, held) => Promise.resolve(held));
  }

  async #read(
    look: (database: Database, held: HeldTables | undefined) => Promise<HeldTables | undefined>,
    signal?: AbortSignal,
  ): Promise<Look> {
    const lakehouse = this.#lakehouse;
    const database = await lakehouse.open({ mode: 'read', signal });
    if (database === undefined) return { held: undefined };
    try {
      return { held: await look(database, await readHeldTables(database, lakehouse)) };
    } catch (error) {
      throw lakehouse.describeFailure(error);
    } finally {
      await database.release();
    }
  }
}
