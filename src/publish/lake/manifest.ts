import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { syncFolder } from '../../files/sync-to-disk.ts';
import { writeWhole } from '../../files/write-whole.ts';
import { PublishError } from '../../model/errors.ts';
import { LAKE_MANIFEST } from '../../model/lake.ts';
import type { Lease } from '../../model/state-lock.ts';
import { hideName } from '../holder-mark.ts';
import { readMode } from '../put-in-place.ts';

const columnSchema = z.object({
  name: z.string(),
  /** As in the warehouse. */
  type: z.string(),
  /** As in the files. */
  storedAs: z.string(),
  /** Never changes for a column; undefined if its values are only in folder names. */
  fieldId: z.int().optional(),
});

const partitionSchema = z.object({
  /** Key in the folder names: `date` in `date=2026-11-20`. */
  folder: z.string(),
  column: z.string(),
  transform: z.enum(['identity', 'year', 'month', 'day']),
  /** Type of the key in the views. */
  type: z.string(),
});

const fileSchema = z.object({
  /** Below the generation's folder. */
  path: z.string(),
  /** Values in the folder names, in order; null where the rows have none. */
  partition: z.array(z.string().nullable()),
  rows: z.int(),
  bytes: z.int(),
  /** A checksum over the values of its rows. */
  fingerprint: z.string(),
  /** A checksum over its bytes; undefined in files of earlier releases. */
  crc32: z.int().optional(),
  /** When it was last changed, epoch ms; undefined in files of earlier releases. Without it the file is read. */
  modifiedAtMs: z.int().optional().catch(undefined),
  /** Minimum and maximum, as text, of columns that hold numbers, dates or the key. */
  range: z.record(z.string(), z.tuple([z.string(), z.string()])),
});

const tableSchema = z.object({
  table: z.string(),
  stream: z.string(),
  generation: z.string(),
  /** Hash of a known row by the engine that computed the fingerprints. Another engine version may hash differently. */
  hashes: z.string().optional(),
  rows: z.int(),
  bytes: z.int(),
  columns: z.array(columnSchema),
  /** Ids of all columns that ever existed; no id is reused. */
  fieldIds: z
    .record(z.string(), z.int())
    .refine((ids) => areDifferent(Object.values(ids)), 'an id is reused'),
  partitionBy: z.array(partitionSchema),
  sortedBy: z.array(z.string()),
  /** What its scans reached: one entry per stream or slice. */
  checkpoints: z.array(
    z.object({
      slice: z.string(),
      watermark: z.string().optional(),
      verdict: z.string().optional(),
      verifiedAt: z.string().optional(),
    }),
  ),
  files: z.array(fileSchema),
  /** Generations that were current before, newest first. */
  retired: z.array(z.object({ generation: z.string(), at: z.string(), mustGo: z.boolean() })),
});

const manifestSchema = z.object({
  format: z.literal('sluice-lake'),
  version: z.literal(1),
  connector: z.string(),
  baseUrl: z.string(),
  /** Path of the lake when its views were created. */
  path: z.string(),
  /** The commit that all tables hold; undefined before the first publish is complete. */
  commit: z.string().optional(),
  runId: z.string().optional(),
  publishedAt: z.string().optional(),
  /** `lake.duckdb` as it was left. */
  catalog: z.object({ size: z.int(), fingerprint: z.string().optional() }).optional(),
  tables: z.array(tableSchema),
  /** Tables that are no longer published; their field ids are not reused. */
  dropped: z.array(tableSchema),
});

export type LakeManifest = z.infer<typeof manifestSchema>;
export type TableManifest = z.infer<typeof tableSchema>;
export type LakeColumn = z.infer<typeof columnSchema>;
export type LakePartition = z.infer<typeof partitionSchema>;
export type LakeFile = z.infer<typeof fileSchema>;

/** Undefined if there is none. Throws PublishError: 2 if it is invalid, 6 if the disk cannot read it. */
export function readManifest(lake: string): LakeManifest | undefined {
  const path = join(lake, LAKE_MANIFEST);
  if (!existsSync(path)) return undefined;
  const text = readText(path);
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new PublishError(`${path} is not a manifest that this version can read`, {
      code: 'publish_refused',
      hint: 'If it is damaged, restore it from a backup. Without one, move the whole lake folder away: the next sync writes a new lake from the state folder; where that is lost, it reads everything from the API. If a newer Sluice wrote it, upgrade. The lake was not touched.',
      context: { path },
      cause: error,
      exitCode: 2,
    });
  }
}

function areDifferent(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new PublishError(`cannot read ${path}: ${(error as Error).message}`, {
      code: 'publish_failed',
      hint: 'Everything synced is committed in the state folder, and the lake was not touched. Fix the cause (permissions, disk) and run again.',
      context: { path },
      cause: error,
    });
  }
}

/** Replaces the manifest atomically, under a lease only as long as it is held. */
export async function writeManifest(lake: string, manifest: LakeManifest, lease?: Lease): Promise<void> {
  const path = join(lake, LAKE_MANIFEST);
  const temporary = join(lake, hideName(LAKE_MANIFEST, lease));
  const lookAgain = lease && (() => lease.confirm());
  const how = { temporary, mode: await readMode(path), ignoresUmask: true, lookAgain };
  await writeWhole(path, `${JSON.stringify(manifest, null, 1)}\n`, how);
  await syncFolder(lake);
}
