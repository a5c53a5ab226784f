import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import { isAsMarked } from '../../warehouse/fingerprint-file.ts';
import { readKeptViews } from '../../warehouse/kept-generations.ts';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import { findLostFiles } from '../../warehouse/lake-losses.ts';
import { isUntouched } from './changed-file.ts';
import { type Expiry, findExpired, removeGenerations, removeViewsOver } from './clean-up.ts';
import { readCurrent } from './folders.ts';
import type { LakeJob } from './lake-job.ts';
import { type LakeManifest, readManifest, type TableManifest, writeManifest } from './manifest.ts';

/** Reads the manifest, or writes an empty one first: the folder must be recognisable after a kill. */
export async function openLake(job: LakeJob): Promise<LakeManifest> {
  makeFolders(job.lake);
  const found = readManifest(job.lake);
  if (found !== undefined) return found;
  const { connector, baseUrl } = job;
  const empty: LakeManifest = {
    format: 'sluice-lake',
    version: 1,
    connector,
    baseUrl,
    path: job.lake,
    tables: [],
    dropped: [],
  };
  await writeManifest(job.lake, empty, job.lease);
  return empty;
}

/** Whether a lake holds the commit of a job, and readers see all of it. */
export async function isPublished(job: LakeJob, manifest: LakeManifest): Promise<boolean> {
  const { commit, path, tables, catalog } = manifest;
  const file = join(job.lake, LAKE_CATALOG);
  if (commit !== job.commit || path !== job.lake || !existsSync(file)) return false;
  if (catalog !== undefined && !(await isAsMarked(file, catalog))) return false;
  return (
    tables.length === job.tables.length &&
    job.tables.every(({ table, partitionBy }) => {
      const held = tables.find((one) => one.table === table);
      if (held === undefined) return false;
      const folder = generationFolder(job.lake, table, held.generation);
      return (
        JSON.stringify(held.partitionBy) === JSON.stringify(partitionBy) &&
        readCurrent(job.lake, table) === held.generation &&
        findLostFiles(folder, held.files).length === 0 &&
        held.files.every((file) => isUntouched(folder, file))
      );
    })
  );
}

/** Removes generations whose grace time is over, even if there is nothing to publish. */
export async function expire(job: LakeJob, manifest: LakeManifest): Promise<void> {
  const expiry = findExpiry(job, job.clock.now());
  const expired = [...manifest.tables, ...manifest.dropped].map((table) => ({
    table,
    names: findExpired(table, expiry).map(({ generation }) => generation),
  }));
  if (expired.every(({ names }) => names.length === 0)) return;
  for (const { table, names } of expired) {
    await removeViewsOver(table.table, names, expiry.kept);
    await removeGenerations(job.lake, table.table, names);
  }
  const without = (tables: readonly TableManifest[]) =>
    tables.map((table) => ({
      ...table,
      retired: table.retired.filter(
        ({ generation }) => !expired.some((one) => one.table === table && one.names.includes(generation)),
      ),
    }));
  await writeManifest(
    job.lake,
    {
      ...manifest,
      tables: without(manifest.tables),
      dropped: without(manifest.dropped),
    },
    job.lease,
  );
}

/** What decides at a time which generations of a lake are removed. */
export function findExpiry({ lake, graceMs }: LakeJob, nowMs: number): Expiry {
  return { nowMs, graceMs, kept: readKeptViews(lake) };
}
