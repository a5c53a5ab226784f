import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ownerOf } from '../../../state/owner.ts';
import { readRunFile } from '../../../state/run-file.ts';
import { workFile } from '../../../state/work-file.ts';
import { resolveLinks } from '../../files/real-paths.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import type { StreamReport } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { PublishedFault } from '../../model/reports.ts';
import type { Lease } from '../../model/state-lock.ts';
import { historyOf } from '../../warehouse/evolve-table.ts';
import { isAsMarked } from '../../warehouse/fingerprint-file.ts';
import { readFileLineage, toRunId } from '../lineage.ts';
import { adviseOn, findFileFaults, type PublishedFile, tryFile } from '../published-file.ts';
import type {
  CarriedState,
  LocalPlace,
  OpenCommit,
  OpenPublisher,
  PublishedState,
  PublishResult,
  VerifyKit,
} from '../publisher.ts';
import { assertLakeIsOurs, findLostState, findParting, isRestorableLake } from './assert-lake.ts';
import { describeLosses } from './inspect-lake.ts';
import { listLakeTables } from './list-tables.ts';
import { readManifest } from './manifest.ts';
import { isOwnInLake } from './own-files.ts';
import { publishLake } from './publish-lake.ts';
import { restoreFromLake } from './restore-lake.ts';
import { takeOverLake } from './take-over-lake.ts';
import { verifyLake } from './verify-lake.ts';

/** Publishes the tables as Parquet files in folders, with views over them and the state in `lake.duckdb`. */
export class LakePublisher implements OpenPublisher {
  readonly name = 'parquet';
  readonly title = 'lake';
  readonly needs = 'open';
  readonly place: string;
  readonly label: string;
  readonly state: CarriedState;
  readonly #settings: OfflineSettings;
  readonly #catalog: string;

  constructor(path: string, settings: OfflineSettings) {
    this.place = path;
    this.label = `${path} (lake)`;
    this.#settings = settings;
    this.#catalog = join(path, LAKE_CATALOG);
    const { stateDir } = settings;
    this.state = {
      part: LAKE_CATALOG,
      isHeld: () => later(() => isRestorableLake(path)),
      findLoss: () => later(() => findLostState(path, stateDir)),
      restore: (file) => restoreFromLake(path, file, join(stateDir, 'tmp')),
    };
  }

  get local(): LocalPlace {
    return {
      target: resolveLinks(this.place),
      folder: this.place,
      engineFolders: [this.place],
      findOwn: () => isOwnInLake(this.place),
    };
  }

  async claim(): Promise<void> {
    const tables = this.#settings.streams.flatMap(({ table }) => [table, historyOf(table)]);
    await assertLakeIsOurs(this.place, ownerOf(this.#settings), tables);
  }

  takeOver(lease: Lease): Promise<void> {
    return takeOverLake(this.place, lease);
  }

  async inspect(): Promise<PublishedState | undefined> {
    const manifest = await later(() => readManifest(this.place));
    const generation = manifest?.commit;
    if (generation === undefined) return undefined;
    const readLineage = async () => {
      const held = await readFileLineage(this.#catalog);
      const parting = findParting(this.place, generation, held);
      if (parting !== undefined) throw parting;
      return { ...held, generation };
    };
    return { generation, isLeft: undefined, readLineage };
  }

  async publish({
    generation: commit,
    work: session,
    begin: onBegin,
    ...rest
  }: OpenCommit): Promise<PublishResult | undefined> {
    const settings = this.#settings;
    const lake = await publishLake({
      ...rest,
      ...ownerOf(settings),
      session,
      lake: this.place,
      commit,
      tables: await listLakeTables(settings, session, () => readManifest(this.place)?.tables ?? []),
      graceMs: settings.retention.lakeMs,
      onBegin,
    });
    if (lake === undefined) return undefined;
    const { bytes } = lake;
    // Where there is no other file for readers, the report names that of the lake.
    const isRead = settings.readersFile === this.#catalog;
    const shown = isRead
      ? { path: this.#catalog, bytes: statSync(this.#catalog).size }
      : { path: this.place, bytes };
    return { bytes, report: { ...shown, lake } };
  }

  async findFaults(): Promise<readonly PublishedFault[]> {
    const manifest = await later(() => readManifest(this.place));
    const stale = this.#describeStale(manifest?.commit);
    const lost = manifest === undefined ? [] : describeLosses(this.place, manifest);
    const fix = existsSync(workFile(this.#settings.stateDir))
      ? 'Run `sluice sync`: it publishes the lake again from the state folder; fresh streams cost no request.'
      : await adviseOn(this.#file());
    const details = [...stale, ...lost.map((what) => `the lake ${this.place} is incomplete: ${what}`)];
    const faults = details.map((detail) => ({ path: this.place, detail, fix }));
    return [...(await findFileFaults(this.#file())), ...faults];
  }

  /** Where the run file shows a later commit that was published than the manifest has. */
  #describeStale(commit: string | undefined): readonly string[] {
    const runs = readRunFile(this.#settings.stateDir);
    const last = runs.findIndex(({ published }) => published?.lake?.path === this.place);
    if (last < 0 || commit === undefined) return [];
    const held = runs.findIndex(({ runId }) => runId === toRunId(commit));
    // A run may publish what an earlier one has committed.
    const later = runs.slice(last, Math.max(last, held)).find(({ streams }) => streams.some(isCommitted));
    if (later === undefined) return [];
    return [
      `the lake ${this.place} is older than what was published last: it has the rows of run ${toRunId(commit)}, not those of ${later.runId}`,
    ];
  }

  tryReading() {
    return tryFile(this.#file());
  }

  verify(kit: VerifyKit) {
    return verifyLake(this.place, ownerOf(this.#settings), kit);
  }

  #file(): PublishedFile {
    const isAsLeft = async () => {
      const mark = readManifest(this.place)?.catalog;
      return mark === undefined || isAsMarked(this.#catalog, mark);
    };
    return {
      path: this.#catalog,
      stateDir: this.#settings.stateDir,
      whole: this.place,
      hasViews: true,
      isAsLeft,
      willSyncReplace: async () => !(await isAsLeft()),
    };
  }
}

function isCommitted({ status }: StreamReport): boolean {
  return status === 'complete';
}

// What it throws is the promise's.
function later<T>(look: () => T): Promise<T> {
  return new Promise((resolve) => resolve(look()));
}
