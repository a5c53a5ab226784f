import { accessSync, constants, existsSync, lstatSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError, PublishError } from '../../model/errors.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../../model/lake.ts';
import { GENERATIONS } from '../../warehouse/lake-entry.ts';
import { assertCurrentsAreLinks, generationsFolder, isOwnTableFolder } from './folders.ts';
import { readManifest } from './manifest.ts';

/** Whose rows a lake holds. */
export interface LakeOwner {
  readonly connector: string;
  readonly baseUrl: string;
}

/**
 * Refuses a folder that holds anything but a lake of this source, before a request is spent on data that could
 * then not be published. `tables` are those that may be put into it.
 */
export async function assertLakeIsOurs(
  lake: string,
  owner: LakeOwner,
  tables: readonly string[],
): Promise<void> {
  if (tables.includes(GENERATIONS)) {
    throw new ConfigError(
      `a lake keeps its files in a folder ${GENERATIONS}: no stream of it can have that name`,
      {
        code: 'config_invalid',
        hint: `Name the stream ${GENERATIONS} something else (its path stays what you set). Nothing was requested.`,
        context: { stream: GENERATIONS },
      },
    );
  }
  if (!isFolder(lake, statSync)) throw toRefusal(lake, `${lake} is no folder`);
  assertIsWritable(lake);
  if (!existsSync(lake)) return;
  const manifest = readManifest(lake);
  if (manifest === undefined) {
    // What a killed first run can leave.
    const foreign = (await readdir(lake)).filter((name) => name !== `.${LAKE_MANIFEST}.tmp`);
    if (foreign.length > 0)
      throw toRefusal(lake, `${lake} holds other files (${nameSome(foreign)}) and no ${LAKE_MANIFEST}`);
    return;
  }
  for (const [name, held, wanted] of [
    ['connector', manifest.connector, owner.connector],
    ['base_url', manifest.baseUrl, owner.baseUrl],
  ] as const) {
    // Until something is published there is nothing to mix with.
    if (held === wanted || manifest.commit === undefined) continue;
    throw new ConfigError(`the lake ${lake} belongs to ${name} ${held}, the config says ${wanted}`, {
      code: 'identity_mismatch',
      hint: 'Name another stateDir and destination for this source, or set the old value back. Nothing was requested.',
      context: { path: lake },
    });
  }
  for (const table of tables) {
    const folder = join(lake, table);
    // A link, too: what is in it is linked to by its place in the lake.
    for (const path of [folder, join(lake, GENERATIONS), generationsFolder(lake, table)])
      if (!isFolder(path, lstatSync)) throw toRefusal(path, `${path} is in the way: it is no folder`);
    if (!(await isOwnTableFolder(folder)))
      throw toRefusal(folder, `${folder} holds files that Sluice did not put there`);
  }
  assertCurrentsAreLinks(lake, tables);
}

/** True where a lake holds a state that a work file can be restored from. */
export function isRestorableLake(lake: string | undefined): lake is string {
  return lake !== undefined && existsSync(join(lake, LAKE_CATALOG)) && existsSync(join(lake, LAKE_MANIFEST));
}

/** True where a lake was published and lost the file that holds its state. */
export function hasLostItsState(lake: string | undefined): lake is string {
  return (
    lake !== undefined && !existsSync(join(lake, LAKE_CATALOG)) && readManifest(lake)?.commit !== undefined
  );
}

/** True for a folder, and where there is nothing yet. */
function isFolder(path: string, look: typeof lstatSync): boolean {
  try {
    return (
      look(path, { throwIfNoEntry: false })?.isDirectory() ??
      lstatSync(path, { throwIfNoEntry: false }) === undefined
    );
  } catch {
    return false;
  }
}

function assertIsWritable(lake: string): void {
  const folder = existsSync(lake) ? lake : dirname(lake);
  if (!existsSync(folder)) return;
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new PublishError(`cannot write into ${folder}, where the lake is to be published`, {
      code: 'publish_failed',
      hint: 'Mend the permissions of the folder, or name another one as destination.parquet. Nothing was requested.',
      context: { path: folder },
      cause: error,
    });
  }
}

function toRefusal(path: string, why: string): PublishError {
  return new PublishError(`${why}; nothing is written into it`, {
    code: 'publish_refused',
    hint: 'Name an empty or new folder as destination.parquet, or move these files away. Nothing was requested.',
    context: { path },
    exitCode: 2,
  });
}

function nameSome(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')}, …` : names.join(', ');
}
