import { existsSync, lstatSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Owner } from '../../../state/owner.ts';
import { ConfigError, PublishError, StorageError } from '../../model/errors.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../../model/lake.ts';
import { GENERATIONS } from '../../warehouse/lake-entry.ts';
import { assertWritable, findExisting } from '../assert-writable.ts';
import { isHiddenName } from '../holder-mark.ts';
import { assertCurrentsAreLinks, generationsFolder, isOwnTableFolder } from './folders.ts';
import { toRunId } from '../lineage.ts';
import type { Lineage } from '../publisher.ts';
import { assertTakesLinks } from './make-link.ts';
import { type LakeManifest, readManifest } from './manifest.ts';
import { RELOAD } from '../../text/reload-advice.ts';

/**
 * Rejects a folder that holds anything but a lake of this source, before requests are spent on data that could not be
 * published. `tables` are the tables that may be written.
 */
export async function assertLakeIsOurs(lake: string, owner: Owner, tables: readonly string[]): Promise<void> {
  if (tables.includes(GENERATIONS)) {
    throw new ConfigError(
      `a lake keeps its files in a folder named ${GENERATIONS}, so no stream can have that name`,
      {
        code: 'config_invalid',
        hint: `Name the stream ${GENERATIONS} something else (its path stays what you set). Nothing was requested.`,
        context: { stream: GENERATIONS },
      },
    );
  }
  if (!isFolder(lake, statSync)) throw toRefusal(lake, `${lake} is not a folder`);
  assertWritable({
    folder: existsSync(lake) ? lake : dirname(lake),
    what: 'the lake',
    instead: 'destination.parquet to another folder',
  });
  const manifest = readManifest(lake);
  if (manifest?.commit === undefined) await assertTakesLinks(findExisting(lake));
  if (!existsSync(lake)) return;
  if (manifest === undefined) {
    // May be left by a killed first run.
    const foreign = (await readdir(lake)).filter((name) => !isHiddenName(LAKE_MANIFEST, name));
    if (foreign.length > 0)
      throw toRefusal(lake, `${lake} holds other files (${nameSome(foreign)}) and no ${LAKE_MANIFEST}`);
    return;
  }
  assertOwner(lake, manifest, owner);
  for (const table of tables) {
    const folder = join(lake, table);
    // Links are rejected too: generations are linked by their path in the lake.
    for (const path of [folder, join(lake, GENERATIONS), generationsFolder(lake, table)])
      if (!isFolder(path, lstatSync)) throw toRefusal(path, `${path} is in the way: it is not a folder`);
    if (!(await isOwnTableFolder(folder)))
      throw toRefusal(folder, `${folder} holds files that Sluice did not put there`);
  }
  assertCurrentsAreLinks(lake, tables);
}

/** Rejects the lake of another source. */
export function assertOwner(lake: string, manifest: LakeManifest, owner: Owner): void {
  for (const [name, held, wanted] of [
    ['connector', manifest.connector, owner.connector],
    ['base_url', manifest.baseUrl, owner.baseUrl],
  ] as const) {
    // Before the first publish there is nothing to mix with.
    if (held === wanted || manifest.commit === undefined) continue;
    throw new ConfigError(`the lake ${lake} belongs to ${name} ${held}, the config says ${wanted}`, {
      code: 'identity_mismatch',
      hint: 'Name another stateDir and destination for this source, or set the old value back. Nothing was requested.',
      context: { path: lake },
    });
  }
}

/** Whether a work file can be restored from a lake. */
export function isRestorableLake(lake: string): boolean {
  return existsSync(join(lake, LAKE_CATALOG)) && existsSync(join(lake, LAKE_MANIFEST));
}

/** The error of a published lake without the file that holds its state: only that file has it. */
export function findLostState(lake: string, stateDir: string): StorageError | undefined {
  if (existsSync(join(lake, LAKE_CATALOG)) || readManifest(lake)?.commit === undefined) return undefined;
  return new StorageError(
    `the lake ${lake} has lost its ${LAKE_CATALOG}, and there is no state in ${stateDir} to continue from`,
    {
      code: 'state_damaged',
      hint: `Restore ${LAKE_CATALOG} from a backup of the lake and run again. Without one, move ${lake} away: ${RELOAD} Nothing was requested.`,
      context: { path: join(lake, LAKE_CATALOG) },
    },
  );
}

/**
 * The error of a lake whose manifest names a commit that `lake.duckdb`, which is always written first, does not know.
 *
 * @param held the commits in `lake.duckdb`
 */
export function findParting(lake: string, commit: string, held: Lineage): StorageError | undefined {
  const path = join(lake, LAKE_CATALOG);
  const { generation, runs } = held;
  if (generation === undefined || generation === commit || runs.has(toRunId(commit))) return undefined;
  return new StorageError(
    `${join(lake, LAKE_MANIFEST)} names a run that ${path} does not know (${toRunId(commit)}): one of them is damaged, or from another backup`,
    {
      code: 'state_damaged',
      hint: `Put both back from the same backup of the lake. Without one, move ${lake} away: the next sync publishes it again from the state folder, and where that is missing too it reads everything from the API. Nothing was requested.`,
      context: { path: lake },
    },
  );
}

/** True for a folder, or if nothing exists at the path. */
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

function toRefusal(path: string, why: string): PublishError {
  return new PublishError(`${why}; nothing is written into it`, {
    code: 'publish_refused',
    hint: 'Set destination.parquet to an empty or new folder, or move these files away. Nothing was requested.',
    context: { path },
    exitCode: 2,
  });
}

function nameSome(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')}, …` : names.join(', ');
}
