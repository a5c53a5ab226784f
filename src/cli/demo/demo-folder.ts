import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import { DEMO_ACCOUNTS } from './demo-accounts.ts';

/** Marks a folder as the demo's, which may recreate it; has a hash of the config that the demo wrote. */
const DEMO_MARKER = '.sluice-demo';
const ABOUT_MARKER = 'Created by `sluice demo`, which may recreate it.\n';
const CONFIG = 'sluice.yaml';

// Only what the demo makes itself is removed: a notebook somebody kept there stays.
const OWN_ENTRIES = [
  ...[CONFIG, 'warehouse.duckdb', 'warehouse.duckdb.wal', '.sluice', DEMO_MARKER],
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
  if (await isConfigChanged(dir)) {
    const path = join(shownAs, CONFIG);
    throw new ConfigError(`${path} was changed since the demo wrote it; nothing in ${shownAs} was touched`, {
      code: 'usage_invalid',
      hint: 'Move it to another folder, or choose another one for the demo: sluice demo --dir ./other-demo',
      context: { path },
    });
  }
  try {
    for (const entry of OWN_ENTRIES) await rm(join(dir, entry), { recursive: true, force: true });
    for (const folder of OWN_FOLDERS) await rmdir(join(dir, folder)).catch(() => undefined);
    makeFolders(dir);
    await writeFile(join(dir, DEMO_MARKER), ABOUT_MARKER);
  } catch (cause) {
    throw toFolderError(shownAs, cause);
  }
}

const ABOUT_CONFIG =
  '# Of `sluice demo`: its API ended with it, so that a sync no longer reaches it. Queries, status and report work.\n';

/** Writes the demo's config, and remembers it; returns its path. */
export async function writeDemoConfig(dir: string, text: string): Promise<string> {
  const path = join(dir, CONFIG);
  const config = `${ABOUT_CONFIG}${text}`;
  await writeFile(path, config);
  await writeFile(join(dir, DEMO_MARKER), `${ABOUT_MARKER}${CONFIG}: ${hash('sha256', config)}\n`);
  return path;
}

/** Whether a user made the config their own: it may be all that is left of an afternoon's work. */
async function isConfigChanged(dir: string): Promise<boolean> {
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(() => undefined);
  const [marker, config] = [await read(DEMO_MARKER), await read(CONFIG)];
  const known = /^sluice\.yaml: ([0-9a-f]{64})$/m.exec(marker ?? '')?.[1];
  return config !== undefined && known !== undefined && hash('sha256', config) !== known;
}

async function listEntries(dir: string, shownAs: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') return [];
    if (code === 'ENOTDIR') throw toFileError(dir, shownAs);
    throw toFolderError(shownAs, cause);
  }
}

function toFileError(dir: string, shownAs: string): ConfigError {
  const what = existsSync(dir) ? `${shownAs} is a file` : `a part of the path ${shownAs} is a file`;
  return new ConfigError(`${what}, and the demo needs a folder; nothing was touched`, {
    code: 'usage_invalid',
    hint: 'Choose a folder: sluice demo --dir ./sluice-demo',
    context: { path: shownAs },
  });
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
