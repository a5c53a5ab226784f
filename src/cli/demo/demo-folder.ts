import { readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import { DEMO_ACCOUNTS } from './demo-accounts.ts';

/** Marks a folder as the demo's, which may recreate it. */
const DEMO_MARKER = '.sluice-demo';

// Only what the demo makes itself is removed: a notebook somebody kept there stays.
const OWN_ENTRIES = [
  ...['sluice.yaml', 'warehouse.duckdb', 'warehouse.duckdb.wal', '.sluice', DEMO_MARKER],
  ...DEMO_ACCOUNTS.flatMap((name) => [
    `keys/${name}`,
    `accounts/${name}.duckdb`,
    `accounts/${name}.duckdb.wal`,
    `lake/account=${name}`,
  ]),
  `lake/${LAKE_CATALOG}`,
];
/** Removed once nothing is in them. */
const OWN_FOLDERS = ['keys', 'accounts', 'lake'];

/** Creates the demo's folder, or empties one that an earlier demo created; any other folder is refused. */
export async function prepareDemoFolder(dir: string, shownAs: string): Promise<void> {
  const entries = await listEntries(dir, shownAs);
  if (entries.length > 0 && !entries.includes(DEMO_MARKER)) {
    throw new ConfigError(`${shownAs} exists and was not created by the demo; nothing in it was touched`, {
      code: 'usage_invalid',
      hint: 'Choose another folder: sluice demo --dir ./other-demo',
      context: { path: shownAs },
    });
  }
  try {
    for (const entry of OWN_ENTRIES) await rm(join(dir, entry), { recursive: true, force: true });
    for (const folder of OWN_FOLDERS) await rmdir(join(dir, folder)).catch(() => undefined);
    makeFolders(dir);
    await writeFile(join(dir, DEMO_MARKER), 'Created by `sluice demo`, which may recreate it.\n');
  } catch (cause) {
    throw toFolderError(shownAs, cause);
  }
}

async function listEntries(dir: string, shownAs: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') return [];
    throw toFolderError(shownAs, cause);
  }
}

function toFolderError(shownAs: string, cause: unknown): StorageError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown cause';
  return new StorageError(`the demo's folder ${shownAs} cannot be used (${code})`, {
    code: 'storage_failed',
    hint: 'Choose a folder you may write to: sluice demo --dir /tmp/sluice-demo',
    context: { path: shownAs },
    cause,
  });
}
