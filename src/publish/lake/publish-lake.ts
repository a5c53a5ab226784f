import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import type { PublishedLake } from '../../model/lake.ts';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import { ANNOUNCED_MS, announceFolders } from './announce.ts';
import { publishCatalog } from './catalog.ts';
import { withChangeTime } from './changed-file.ts';
import {
  findExpired,
  listKnown,
  nameGeneration,
  removeGenerations,
  removeLeftovers,
  removeViewsOver,
} from './clean-up.ts';
import { describeFailure } from './describe-failure.ts';
import {
  assertCurrentsAreLinks,
  buildFolder,
  finishGeneration,
  flip,
  forEach,
  generationsFolder,
  makeLikeOthers,
  prepareFlip,
  shareFile,
  unlinkCurrent,
} from './folders.ts';
import type { LakeJob } from './lake-job.ts';
import {
  type LakeFile,
  type LakeManifest,
  readManifest,
  type TableManifest,
  writeManifest,
} from './manifest.ts';
import { expire, findExpiry, isPublished, openLake } from './open-lake.ts';
import { planTable, type TablePlan } from './plan-table.ts';
import { describeHashes } from '../stored-values.ts';
import { describeDamage, findDamage } from './unreadable-file.ts';
import { writeFiles } from './write-files.ts';

/**
 * Publishes the committed tables to a lake. Each changed partition gets a new file, all other files are shared with
 * the previous generation, and readers switch generations atomically (invariant 4). Safe to repeat: after a kill at
 * any point readers still see the previous data.
 *
 * @returns undefined if the lake already holds this commit
 */
export async function publishLake(job: LakeJob): Promise<PublishedLake | undefined> {
  let publish: LakePublish | undefined;
  try {
    const manifest = await openLake(job);
    if (await isPublished(job, manifest)) {
      await expire(job, manifest);
      return undefined;
    }
    await job.look(manifest.commit);
    job.onBegin();
    publish = new LakePublish(job, manifest);
    return await publish.run();
  } catch (error) {
    const tables = publish?.tables ?? [];
    const damage = await findDamage(job.session, job.lake, tables, error);
    const hasFlipped = publish?.hasFlipped === true;
    throw damage === undefined
      ? describeFailure(job.lake, error, hasFlipped)
      : describeDamage(job.lake, damage, { hasFlipped, cause: error });
  }
}

class LakePublish {
  readonly #job: LakeJob;
  readonly #manifest: LakeManifest;
  readonly #generation: string;
  /** See the manifest. */
  #hashes = '';
  #files = 0;
  #bytes = 0;
  #hasFlipped = false;

  constructor(job: LakeJob, manifest: LakeManifest) {
    this.#job = job;
    this.#manifest = manifest;
    this.#generation = nameGeneration(job.clock.now(), randomBytes(4).toString('hex'), job.lease);
  }

  /** Whether readers may already see new rows. */
  get hasFlipped(): boolean {
    return this.#hasFlipped;
  }

  /** As they were published before. */
  get tables(): readonly TableManifest[] {
    return this.#manifest.tables;
  }

  async run(): Promise<PublishedLake> {
    const { lake, clock, signal, tables, lease } = this.#job;
    assertCurrentsAreLinks(
      lake,
      tables.map(({ table }) => table),
    );
    for (const { table } of tables)
      await removeLeftovers(lake, { table, known: listKnown(this.#manifest, table) }, lease);
    this.#hashes = await describeHashes(this.#job.session);
    const plans: TablePlan[] = [];
    for (const table of tables) plans.push(await planTable(this.#job, table, ...this.#find(table.table)));
    const due = plans.filter(({ isDue }) => isDue);
    const announced = new Map<string, string>();
    for (const plan of due) {
      await makeLikeOthers(lake, generationsFolder(lake, plan.table.table));
      const shown = await announceFolders(this.#job, plan, this.#generation);
      if (shown !== undefined) announced.set(plan.table.table, shown);
    }
    const announcedAtMs = clock.monotonic();
    const written = new Map<string, TableManifest>();
    for (const plan of due)
      written.set(plan.table.table, await this.#build(plan, announced.get(plan.table.table)));
    const leftMs = announcedAtMs + ANNOUNCED_MS - clock.monotonic();
    if (announced.size > 0 && leftMs > 0) await clock.sleep(leftMs, signal);
    const generation = this.#generation;
    for (const { table } of due) await prepareFlip(lake, { table: table.table, generation }, lease);
    await this.#job.look(readManifest(lake)?.commit);
    this.#hasFlipped = due.length > 0;
    for (const { table } of due) {
      await lease?.confirm();
      await flip(lake, table.table, lease);
    }
    await this.#finish(plans.map((plan) => written.get(plan.table.table) ?? this.#carryOn(plan)));
    return { path: lake, tables: due.length, files: this.#files, bytes: this.#bytes };
  }

  /** The manifest's entry of a table, and the entry with its columns, which may be of a dropped table. */
  #find(name: string): readonly [TableManifest | undefined, TableManifest | undefined] {
    const held = this.#manifest.tables.find(({ table }) => table === name);
    return [held, held ?? this.#manifest.dropped.find(({ table }) => table === name)];
  }

  /** Builds the next generation of a table next to the current one. */
  async #build(plan: TablePlan, announced: string | undefined): Promise<TableManifest> {
    const { lake } = this.#job;
    const { table, before, kept } = plan;
    const folder = buildFolder(lake, table.table, this.#generation);
    await rm(folder, { recursive: true, force: true });
    makeFolders(folder);
    const written = await writeFiles(this.#job, plan, this.#generation);
    const shared = generationFolder(lake, table.table, before?.generation ?? '');
    await forEach(kept, ({ path }) => shareFile(join(shared, path), join(folder, path)));
    await finishGeneration(lake, table.table, this.#generation);
    this.#files += written.length;
    this.#bytes += written.reduce((sum, { bytes }) => sum + bytes, 0);
    const built = generationFolder(lake, table.table, this.#generation);
    // Where a file system has no hard links, what is shared was copied.
    const files = [...kept, ...written].map((file) => withChangeTime(built, file));
    return this.#describe(plan, files, announced);
  }

  #describe(plan: TablePlan, files: readonly LakeFile[], announced: string | undefined): TableManifest {
    const { table, columns, fieldIds, current } = plan;
    const at = new Date(this.#job.clock.now()).toISOString();
    const [, earlier] = this.#find(table.table);
    const known = earlier?.retired ?? [];
    const left = [announced, current, earlier?.generation].filter((one) => one !== undefined);
    const retired = [...new Set(left)]
      .filter((one) => one !== this.#generation && !known.some(({ generation }) => generation === one))
      .map((generation) => ({ generation, at, mustGo: this.#job.mustForget || generation === announced }));
    return {
      table: table.table,
      stream: table.stream,
      generation: this.#generation,
      hashes: this.#hashes,
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      columns: [...columns],
      fieldIds: { ...fieldIds },
      partitionBy: [...table.partitionBy],
      sortedBy: [...table.sortBy],
      checkpoints: table.checkpoints,
      files: sortByPath(files),
      retired: [...retired, ...known.map((one) => ({ ...one, mustGo: one.mustGo || this.#job.mustForget }))],
    };
  }

  #carryOn({ table, before, kept }: TablePlan): TableManifest {
    if (before === undefined) throw new Error(`${table.table} has no generation`);
    // All its checksums are by this engine.
    return { ...before, hashes: this.#hashes, checkpoints: table.checkpoints, files: sortByPath(kept) };
  }

  async #finish(tables: readonly TableManifest[]): Promise<void> {
    const { lake, connector, baseUrl, commit, runId, clock, lease } = this.#job;
    const catalog = await publishCatalog(this.#job, tables);
    const names = new Set(tables.map(({ table }) => table));
    const gone = this.#manifest.tables.filter(({ table }) => !names.has(table));
    const dropped = [
      ...this.#manifest.dropped.filter(({ table }) => !names.has(table)),
      ...gone.map((one) => this.#drop(one)),
    ];
    const nowMs = clock.now();
    const expiry = findExpiry(this.#job, nowMs);
    const all = [...tables, ...dropped].map((table) => ({ table, expired: findExpired(table, expiry) }));
    const without = (table: TableManifest): TableManifest => {
      const expired = all.find((one) => one.table === table)?.expired ?? [];
      return { ...table, retired: table.retired.filter((one) => !expired.includes(one)) };
    };
    const manifest: LakeManifest = {
      format: 'sluice-lake',
      version: 1,
      connector,
      baseUrl,
      path: lake,
      commit,
      runId,
      publishedAt: new Date(nowMs).toISOString(),
      catalog,
      tables: tables.map(without),
      dropped: dropped.map(without),
    };
    await writeManifest(lake, manifest, lease);
    // Nothing can refuse these if they come late: a table that is hidden then is shown again by the next publish.
    await lease?.confirm();
    for (const { table } of gone) await unlinkCurrent(lake, table);
    for (const { table, expired } of all) {
      const names = expired.map(({ generation }) => generation);
      await removeViewsOver(table.table, names, expiry.kept);
      await removeGenerations(lake, table.table, names);
    }
  }

  /** A table that no longer exists: its files are kept for the grace time, its field ids for ever. */
  #drop(table: TableManifest): TableManifest {
    const at = new Date(this.#job.clock.now()).toISOString();
    const retired = [{ generation: table.generation, at, mustGo: true }, ...table.retired];
    return {
      ...table,
      files: [],
      rows: 0,
      bytes: 0,
      retired: retired.map((one) => ({ ...one, mustGo: true })),
    };
  }
}

function sortByPath(files: readonly LakeFile[]): LakeFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
