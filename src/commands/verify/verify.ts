import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readCheckpoints } from '../../../state/checkpoints.ts';
import { lockStateFolder } from '../../../state/lock.ts';
import { readMeta, schemaVersion } from '../../../state/migrations.ts';
import { isPublishedFile, readPublishedRecord } from '../../../state/published-record.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { toAbortError } from '../../model/abort.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { type ExitCode, LockedError, type SyncError, toSyncError } from '../../model/errors.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import type { CheckItem, VerifyReport } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { inspectLake, type LakeFacts } from '../../publish/lake/inspect-lake.ts';
import { readManifest } from '../../publish/lake/manifest.ts';
import { findUnreadable } from '../../publish/lake/unreadable-file.ts';
import { Database } from '../../warehouse/database.ts';
import { fingerprintTables } from '../../warehouse/fingerprint-tables.ts';
import { openForReading, openOwnPublished } from '../../warehouse/query-published.ts';
import { assertIdentity } from '../../storage/open-warehouse.ts';
import { withoutKey } from '../../run/refuse-requests.ts';
import { describeMissing } from '../../storage/restore-work-file.ts';
import { workFile } from '../../storage/state-folder.ts';
import { compareFiles, type FileFacts } from './compare-files.ts';
import {
  adviseForMissing,
  DAMAGED_FILE_FIX,
  findDamagedRows,
  hintFor,
  LAKE_FIX,
  LONE_LAKE_FIX,
  REPUBLISH_FIX,
  SYNC_FIX,
} from './verify-lake.ts';
import { verifyArchives, verifyStages } from './verify-archive.ts';
import { verifyTables } from './verify-tables.ts';

export interface VerifyOptions {
  readonly streams?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Whether the published file, the lake, the work file, the checkpoints and the archive agree; sends no request and
 * changes nothing. While a run holds the state, what can be looked at without it is.
 */
export async function verifyState(
  settings: OfflineSettings,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { clock = systemClock, signal } = options;
  const selected = { ...settings, streams: selectStreams(settings, options.streams) };
  const verification = new Verification(selected, clock, signal);
  await verification.run();
  return verification.report();
}

/** A file that could not be read. */
interface FailedFile {
  readonly name: string;
  readonly file: string;
  /** undefined where it could not be opened. */
  readonly database: Database | undefined;
  readonly isAlone: boolean;
}

class Verification {
  readonly #settings: OfflineSettings;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #items: CheckItem[] = [];
  /** Something could not be looked at because another program has it. */
  #isPartial = false;

  constructor(settings: OfflineSettings, clock: Clock, signal: AbortSignal | undefined) {
    this.#settings = settings;
    this.#clock = clock;
    this.#signal = signal;
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
      // A run archives and stages while this looks on.
      this.#skip('archive', 'the run may be writing it');
      return;
    }
    try {
      await this.#verifyFiles(true);
    } finally {
      lock.release();
    }
  }

  report(): VerifyReport {
    const failed = this.#items.some(({ status }) => status === 'failed');
    const exitCode: ExitCode = failed ? 6 : this.#isPartial ? 75 : 0;
    return { ok: exitCode === 0, exitCode, items: this.#items, comparison: undefined };
  }

  async #verifyFiles(mayOpenWork: boolean): Promise<void> {
    const work = mayOpenWork ? await this.#verifyWork() : undefined;
    const { publishesDuckdb, duckdbPath, lakePath } = this.#settings;
    const published = publishesDuckdb ? await this.#verifyPublished(work === undefined) : undefined;
    if (work !== undefined && published !== undefined) {
      this.#items.push(
        compareFiles(this.#settings, { name: 'published file', path: duckdbPath, facts: published }, work),
      );
    }
    const lake =
      lakePath === undefined
        ? undefined
        : await this.#verifyLake(lakePath, (work ?? published) === undefined);
    const other = work ?? published;
    if (lakePath !== undefined && lake !== undefined && other !== undefined) {
      const found = { name: 'lake', path: lakePath, facts: lake } as const;
      const otherName = work === undefined ? 'published file' : 'work file';
      this.#items.push(compareFiles(this.#settings, found, other, otherName));
    }
    if (!mayOpenWork) return;
    const checkpoints = (other ?? lake)?.checkpoints ?? [];
    this.#items.push(...(await verifyArchives(this.#settings, checkpoints, this.#signal)));
    this.#items.push(...(await verifyStages(this.#settings, this.#clock.now())));
  }

  async #verifyWork(): Promise<FileFacts | undefined> {
    const file = workFile(this.#settings.stateDir);
    if (!existsSync(file)) {
      this.#add('work file', 'warning', describeMissing(this.#settings));
      return undefined;
    }
    return this.#readFile('work file', file, () => this.#open(file));
  }

  #adviseForMissing(): string {
    return existsSync(workFile(this.#settings.stateDir)) ? REPUBLISH_FIX : SYNC_FIX;
  }

  async #verifyPublished(isAlone: boolean): Promise<FileFacts | undefined> {
    const { duckdbPath: path, stateDir } = this.#settings;
    if (!existsSync(path)) {
      // A first run publishes when it ends.
      if (this.#isPartial) this.#skip('published file', `there is no ${path} yet`);
      else this.#add('published file', 'failed', `there is no ${path}`, this.#adviseForMissing());
      return undefined;
    }
    const record = readPublishedRecord(stateDir);
    if (record !== undefined && !isPublishedFile(record, path)) {
      const detail = `${path} is not the file that was published last`;
      this.#add('published file', 'failed', detail, `If you did not put it there, ${REPUBLISH_FIX}`);
    }
    const open = async () => {
      // It says best what is wrong with a file that is not ours.
      await (await openOwnPublished(path)).release();
      return this.#open(path);
    };
    return this.#readFile('published file', path, open, isAlone);
  }

  /** Checks the lake's files against its manifest, and its views. */
  async #verifyLake(lake: string, isAlone: boolean): Promise<FileFacts | undefined> {
    let found: LakeFacts | undefined;
    try {
      found = inspectLake(lake);
    } catch (thrown) {
      const { message, hint } = toSyncError(thrown);
      this.#add('lake', 'failed', message, hint);
      return undefined;
    }
    if (found?.manifest.commit === undefined) {
      if (this.#isPartial) this.#skip('lake', `there is no lake at ${lake} yet`);
      else this.#add('lake', 'failed', `there is no lake at ${lake}`, await adviseForMissing(lake));
      return undefined;
    }
    const { files, rows, problems } = found;
    const isLone = isAlone && !existsSync(workFile(this.#settings.stateDir));
    for (const detail of problems) this.#add('lake', 'failed', detail, isLone ? LONE_LAKE_FIX : LAKE_FIX);
    if (problems.length > 0) return undefined;
    const summary = `${lake}: ${files.toLocaleString('en-US')} files and ${rows.toLocaleString('en-US')} rows as its manifest says`;
    this.#add('lake', 'ok', summary);
    const catalog = join(lake, LAKE_CATALOG);
    if (!existsSync(catalog)) {
      this.#add('lake', 'failed', `there is no ${catalog}`, isLone ? LONE_LAKE_FIX : REPUBLISH_FIX);
      return undefined;
    }
    return this.#readFile('lake', catalog, () => this.#open(catalog), isAlone);
  }

  // Keys of many rows are counted with more memory than there may be.
  #open(file: string): Promise<Database> {
    const spill = join(this.#settings.stateDir, 'tmp');
    const folders = existsSync(spill) ? [spill] : [];
    if (file === workFile(this.#settings.stateDir)) return Database.open({ file, readOnly: true, folders });
    return openForReading(file, folders);
  }

  /** Reads a file and checks its consistency; table problems are reported once, for the first file. */
  async #readFile(
    name: string,
    file: string,
    open: () => Promise<Database>,
    tellsTables = true,
  ): Promise<FileFacts | undefined> {
    let database: Database | undefined;
    const interrupt = () => database?.interrupt();
    this.#signal?.addEventListener('abort', interrupt, { once: true });
    try {
      database = await open();
      const meta = await readMeta(database);
      assertIdentity(meta, withoutKey(this.#settings), file);
      const facts: FileFacts = {
        generation: meta.get('generation'),
        checkpoints: await readCheckpoints(database),
        tables: await fingerprintTables(database),
      };
      const damages = name === 'lake' ? await findDamagedRows(database, dirname(file), facts.tables) : [];
      for (const detail of damages) this.#add(name, 'failed', detail, this.#fixForDamaged(tellsTables));
      if (damages.length > 0) return undefined;
      const tables = formatCountOf(facts.tables.size, 'table');
      this.#add(name, 'ok', `${file}: every block of ${tables} could be read`);
      if (meta.get('schema_version') !== String(schemaVersion))
        this.#add(name, 'warning', 'it is of another version; the next sync brings it up to date');
      else if (tellsTables) this.#items.push(...(await verifyTables(this.#settings, database)));
      return facts;
    } catch (thrown) {
      if (this.#signal?.aborted === true) throw toAbortError(this.#signal);
      const error = toSyncError(thrown);
      if (error instanceof LockedError) this.#skip(name, error.message);
      else
        this.#add(
          name,
          'failed',
          ...(await this.#explain(error, { name, file, database, isAlone: tellsTables })),
        );
      return undefined;
    } finally {
      this.#signal?.removeEventListener('abort', interrupt);
      await database?.release();
    }
  }

  /** What a file failed with and what repairs it; of a lake's file the engine says neither. */
  async #explain(
    error: SyncError,
    { name, file, database, isAlone }: FailedFile,
  ): Promise<readonly [string, string]> {
    const lake = dirname(file);
    const path =
      name === 'lake' && database !== undefined
        ? await findUnreadable(database, lake, readManifest(lake)?.tables ?? [])
        : undefined;
    if (path === undefined) return [error.message, hintFor(name, error)];
    return [`${path} is damaged`, this.#fixForDamaged(isAlone)];
  }

  #fixForDamaged(isAlone: boolean): string {
    const isLone = isAlone && !existsSync(workFile(this.#settings.stateDir));
    return isLone ? LONE_LAKE_FIX : DAMAGED_FILE_FIX;
  }

  #skip(name: string, why: string): void {
    this.#isPartial = true;
    this.#add(name, 'skipped', why, 'Verify again when that program is done.');
  }

  #add(name: string, status: CheckItem['status'], detail: string, fix?: string): void {
    this.#items.push({ name, status, detail, fix });
  }
}
