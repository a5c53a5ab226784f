import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { readMeta, writeMeta } from '../../state/migrations.ts';
import { isPublishedFile, readPublishedRecord, writePublishedRecord } from '../../state/published-record.ts';
import { StorageError } from '../model/errors.ts';
import { publishDuckdbFile } from '../publish/publish-duckdb.ts';
import type { Database } from '../warehouse/database.ts';
import { proveReadable } from '../warehouse/prove-readable.ts';
import { rewriteFile } from '../warehouse/rewrite-file.ts';
import { workFile } from './state-folder.ts';
import type { RunContext } from './run-context.ts';

/** Marks the warehouse as changed by a run; call in the transaction that changed it. */
export async function markGeneration(database: Database, runId: string): Promise<void> {
  // A scheduler may give its retries the same run id.
  await writeMeta(database, 'generation', `${runId} ${randomBytes(6).toString('hex')}`);
}

/** Has the work file written anew before it is published next: values that left it are still among its bytes. */
export async function askForRewrite(database: Database): Promise<void> {
  await writeMeta(database, REWRITE, 'due');
}

const REWRITE = 'rewrite';

/**
 * Closes the work file and publishes it, unless the published file already holds this state. Safe to
 * repeat: a crash between commit and publish loses nothing.
 */
export async function publishRun(
  context: RunContext,
): Promise<{ readonly path: string; readonly bytes: number } | undefined> {
  const { database, settings, emit } = context;
  const meta = await readMeta(database);
  const generation = meta.get('generation');
  if (generation === undefined || isPublished(settings.stateDir, settings.duckdbPath, generation))
    return undefined;

  emit({ type: 'publishing', path: settings.duckdbPath });
  await database.checkpoint();
  // The published file is what a damaged work file is restored from.
  await proveReadable(database);
  await database.release();
  const file = workFile(settings.stateDir);
  if (existsSync(`${file}.wal`)) {
    throw new StorageError(`${file} has changes that are not written into it yet`, {
      code: 'storage_failed',
      hint: 'Run again: committed data is safe and will be published then.',
      context: { path: file },
    });
  }
  if (meta.has(REWRITE))
    await rewriteFile(file, (fresh) => fresh.run('DELETE FROM _sluice.meta WHERE key = $1', [REWRITE]));
  const published = await publishDuckdbFile(file, followLink(settings.duckdbPath), context.runId);
  const { bytes, device, inode, bornAtMs } = published;
  const path = settings.duckdbPath;
  writePublishedRecord(settings.stateDir, { path, device, inode, bornAtMs, generation });
  emit({ type: 'published', path, bytes });
  return { path, bytes };
}

// A rename over a link would put a file in its place and leave what it points to as it was.
function followLink(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function isPublished(stateDir: string, path: string, generation: string): boolean {
  const record = readPublishedRecord(stateDir);
  return record?.generation === generation && existsSync(path) && isPublishedFile(record, path);
}
