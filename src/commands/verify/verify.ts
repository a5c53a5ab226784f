import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readCheckpoints } from '../../../state/checkpoints.ts';
import { lockStateFolder } from '../../../state/lock.ts';
import { readMeta, schemaVersion } from '../../../state/migrations.ts';
import { assertIdentity } from '../../../state/owner.ts';
import { readRunFile } from '../../../state/run-file.ts';
import { workFile } from '../../../state/work-file.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { toAbortError } from '../../model/abort.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { type ExitCode, LockedError, PublishError, toSyncError } from '../../model/errors.ts';
import type { CheckItem, VerifyReport } from '../../model/reports.ts';
import { isSync } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Damage, HeldFacts, Publisher, ReadSource, VerifyKit } from '../../publish/publisher.ts';
import { COMPARE_FIX, REPUBLISH_FIX } from '../../publish/published-file.ts';
import { listPublishers } from '../../publish/registry.ts';
import { assertOwnLineage } from '../../storage/assert-lineage.ts';
import { IS_OF_COMMIT } from '../../storage/identity.ts';
import { describeMissing, listStateSources } from '../../storage/restore-work-file.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { Database } from '../../warehouse/database.ts';
import { OutdatedFileError } from '../../warehouse/database-errors.ts';
import { fingerprintTables } from '../../warehouse/fingerprint-tables.ts';
import { type Comparison, compareFiles, type Reference } from './compare-files.ts';
import { type HeldRows, readHeldRows } from '../rebuild/judge-readers.ts';
import { verifyArchives, verifyStages } from './verify-archive.ts';
import { verifyTables } from './verify-tables.ts';

export interface VerifyOptions {
  readonly streams?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Whether the published file, the lake, the work file, the checkpoints and the archive agree; sends no request and
 * changes nothing but a note for the next publish where rows of a lakehouse differ. While a run holds the state, only
 * what can be read without it is checked.
 */
export async function verifyState(
  settings: OfflineSettings,
  options: VerifyOptions = {},
  publishers = listPublishers(settings),
): Promise<VerifyReport> {
  const { clock = systemClock, signal } = options;
  const selected = { ...settings, streams: selectStreams(settings, options.streams) };
  const isOfAll = options.streams === undefined;
  const verification = new Verification(selected, publishers, { clock, signal, isOfAll });
  await verification.run();
  return verification.report();
}

class Verification {
  readonly #settings: OfflineSettings;
  readonly #publishers: readonly Publisher[];
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  /** No streams were named. */
  readonly #isOfAll: boolean;
  readonly #items: CheckItem[] = [];
  /** What the tables hold, by stream. */
  readonly #held = new Map<string, HeldRows>();
  /** Something could not be checked because another program has it. */
  #isPartial = false;
  /** Why a sync would not publish, at `context.path`. */
  #refusal: PublishError | undefined;
  /** The work file is older than what is published: a sync replaces it. */
  #isOutdated = false;

  constructor(
    settings: OfflineSettings,
    publishers: readonly Publisher[],
    {
      clock,
      signal,
      isOfAll,
    }: Pick<VerifyOptions, 'signal'> & { readonly clock: Clock; readonly isOfAll: boolean },
  ) {
    this.#settings = settings;
    this.#publishers = publishers;
    this.#clock = clock;
    this.#signal = signal;
    this.#isOfAll = isOfAll;
  }

  async run(): Promise<void> {
    const { stateDir } = this.#settings;
    if (!existsSync(stateDir)) return this.#verifyFiles(true);
    const since = new Date(this.#clock.now()).toISOString();
    let lock;
    try {
      lock = await lockStateFolder(stateDir, since, 'verify');
    } catch (thrown) {
      if (!(thrown instanceof LockedError)) throw thrown;
      this.#skip('work file', thrown.message);
      await this.#verifyFiles(false);
      // A run may archive and stage pages meanwhile.
      this.#skip('archive', 'the run may be writing it');
      return;
    }
    try {
      await this.#verifyFiles(true);
    } finally {
      await lock.release();
    }
  }

  report(): VerifyReport {
    const failed = this.#items.some(({ status }) => status === 'failed');
    const exitCode: ExitCode = failed ? 6 : this.#isPartial ? 75 : 0;
    return { ok: exitCode === 0, exitCode, items: this.#items, comparison: undefined };
  }

  async #verifyFiles(mayOpenWork: boolean): Promise<void> {
    const work = mayOpenWork ? await this.#verifyWork() : undefined;
    const place = workFile(this.#settings.stateDir);
    const isThere = existsSync(place);
    const hasWork = isThere && !this.#isOutdated;
    // A first sync that was refused leaves a work file with nothing in it.
    const hasRows = work === undefined ? isThere : work.checkpoints.length > 0;
    const wasSynced = hasRows || (await listStateSources(this.#settings)).length > 0;
    let reference: Reference | undefined = work && { title: 'work file', place, facts: work };
    for (const publisher of this.#publishers) {
      const facts = await publisher.verify(
        this.#kitFor(publisher, { isAlone: reference === undefined, hasWork, wasSynced }),
      );
      if (facts === undefined) continue;
      if (reference !== undefined) {
        const found = compareFiles(publisher, facts, reference);
        this.#add(found.name, found.status, found.detail, this.#repair(publisher, found, work !== undefined));
      }
      reference ??= { title: publisher.title, place: publisher.place, facts };
    }
    if (!mayOpenWork) return;
    const checkpoints = reference?.facts.checkpoints ?? [];
    const state = { checkpoints, held: this.#held };
    this.#items.push(...(await verifyArchives(this.#settings, state, this.#signal)));
    this.#items.push(...(await verifyStages(this.#settings, this.#clock.now())));
  }

  async #verifyWork(): Promise<HeldFacts | undefined> {
    const path = workFile(this.#settings.stateDir);
    if (!existsSync(path)) {
      const { detail, loss } = await describeMissing(this.#settings);
      if (loss === undefined) this.#add('work file', 'warning', detail);
      else this.#add('work file', 'failed', `${detail}: ${loss.message}`, loss.hint);
      return undefined;
    }
    return this.#read('work file', true, {
      path,
      open: (folders) => Database.open({ file: path, readOnly: true, folders }),
      findDamages: (database) => this.#judgeLineage(database),
    });
  }

  /** What a sync would find where state or destination were replaced, e.g. from a backup. */
  async #judgeLineage(database: Database): Promise<readonly Damage[]> {
    try {
      await assertOwnLineage(this.#settings, database);
    } catch (error) {
      this.#isOutdated = error instanceof OutdatedFileError;
      if (error instanceof OutdatedFileError) return [[error.message, error.hint]];
      // What cannot be read is told with its destination.
      if (error instanceof PublishError) this.#refusal = error;
    }
    return [];
  }

  async #verifyTables(database: Database): Promise<void> {
    this.#items.push(...(await verifyTables(this.#settings, database, this.#isOfAll)));
    for (const stream of this.#settings.streams)
      this.#held.set(stream.name, await readHeldRows(database, stream));
  }

  /** What to do about a difference; one that a publish would not see is noted for the next one. */
  #repair(publisher: Publisher, { isDifferent, fix }: Comparison, hasWork: boolean): string | undefined {
    if (!isDifferent || !hasWork || publisher.promiseToCompare === undefined)
      return this.#adviseOn(publisher, fix);
    publisher.promiseToCompare();
    return COMPARE_FIX;
  }

  /** A sync does not publish where it is refused: the cause must be fixed first. */
  #adviseOn({ place }: Publisher, fix: string | undefined): string | undefined {
    const refusal = this.#refusal;
    if (refusal?.context.path === place && fix?.includes('sluice sync') === true)
      return `A sync is refused there: ${refusal.message}. ${refusal.hint}`;
    if (fix?.includes(REPUBLISH_FIX) !== true) return fix;
    const refused = readRunFile(this.#settings.stateDir).find(isSync)?.error;
    const isSame = refused?.code === 'publish_refused' && refused.message.includes(place);
    return isSame ? `The last sync was refused there: ${refused.message}. ${refused.hint}` : fix;
  }

  #kitFor(publisher: Publisher, known: Pick<VerifyKit, 'isAlone' | 'hasWork' | 'wasSynced'>): VerifyKit {
    const { title } = publisher;
    return {
      ...known,
      add: (status, detail, fix) => this.#add(title, status, detail, this.#adviseOn(publisher, fix)),
      addMissing: (detail, fix) => {
        // A first run publishes when it ends.
        if (this.#isPartial) this.#skip(title, `${detail} yet`);
        else this.#add(title, 'failed', detail, this.#adviseOn(publisher, fix));
      },
      read: (source) =>
        this.#read(title, known.isAlone, source, ([detail, fix]) => [
          detail,
          this.#adviseOn(publisher, fix) ?? fix,
        ]),
    };
  }

  /** Reads a database and checks its consistency; table problems are reported once, for the first one. */
  async #read(
    name: string,
    tellsTables: boolean,
    source: ReadSource,
    advise: (damage: Damage) => Damage = (damage) => damage,
  ): Promise<HeldFacts | undefined> {
    let database: Database | undefined;
    const interrupt = () => database?.interrupt();
    this.#signal?.addEventListener('abort', interrupt, { once: true });
    try {
      // Counting keys of many rows may need more memory than there is.
      const spill = join(this.#settings.stateDir, 'tmp');
      database = await source.open(existsSync(spill) ? [spill] : []);
      const meta = await readMeta(database);
      assertIdentity(meta, this.#settings, source.path);
      const facts: HeldFacts = {
        generation: meta.get('generation'),
        checkpoints: await readCheckpoints(database),
        tables: await fingerprintTables(database, { '_sluice.meta': IS_OF_COMMIT }),
      };
      const damages = (await source.findDamages?.(database, facts.tables)) ?? [];
      for (const damage of damages) this.#add(name, 'failed', ...advise(damage));
      if (damages.length > 0) return undefined;
      const tables = formatCountOf(facts.tables.size, 'table');
      this.#add(name, 'ok', `${source.path}: every block of ${tables} could be read`);
      if (meta.get('schema_version') !== String(schemaVersion))
        this.#add(name, 'warning', 'it is from another version; the next sync brings it up to date');
      else if (tellsTables) await this.#verifyTables(database);
      return facts;
    } catch (thrown) {
      if (this.#signal?.aborted === true) throw toAbortError(this.#signal);
      const error = toSyncError(thrown);
      if (error instanceof LockedError) this.#skip(name, error.message);
      else {
        const damage = await source.explain?.(error, database);
        this.#add(name, 'failed', ...advise(damage ?? [error.message, error.hint]));
      }
      return undefined;
    } finally {
      this.#signal?.removeEventListener('abort', interrupt);
      await database?.release();
    }
  }

  #skip(name: string, why: string): void {
    this.#isPartial = true;
    this.#add(name, 'skipped', why, 'Verify again when that program is done.');
  }

  #add(name: string, status: CheckItem['status'], detail: string, fix?: string): void {
    this.#items.push({ name, status, detail, fix });
  }
}
