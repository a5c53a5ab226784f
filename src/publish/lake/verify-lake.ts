import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from '../../../state/owner.ts';
import { toSyncError } from '../../model/errors.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../../model/lake.ts';
import type { Database } from '../../warehouse/database.ts';
import { readLakeEntry } from '../../warehouse/lake-entry.ts';
import { isMoved, MOVED, MOVED_FIX } from '../../warehouse/moved-lake.ts';
import { openForReading } from '../../warehouse/query-published.ts';
import { isHiddenName } from '../holder-mark.ts';
import { readFileLineage } from '../lineage.ts';
import { adviseForUnpublished, REPUBLISH_FIX } from '../published-file.ts';
import type { HeldFacts, PublishedFacts, VerifyKit } from '../publisher.ts';
import { assertOwner, findParting } from './assert-lake.ts';
import { inspectLake, type LakeFacts } from './inspect-lake.ts';
import { readManifest } from './manifest.ts';
import { findWrongRows } from './prove-rows.ts';
import { adviseOnDamage, findUnreadable } from './unreadable-file.ts';
import { RELOAD } from '../../text/reload-advice.ts';
import { formatCountOf } from '../../text/format-count.ts';

const adviseOnFiles = (lake: string) =>
  `sluice sync writes again what is missing or of the wrong size; fresh streams cost no request. If that does not help, move ${join(lake, LAKE_CATALOG)} away first.`;
// Without a work file, the state is in the lake alone.
const LONE_LAKE_FIX = `Put the lake back from a backup. Without one, move its folder away: ${RELOAD}`;
const UPGRADE = 'If a newer Sluice wrote it, upgrade.';

/** Checks a lake's files with its manifest, and the rows behind its views. */
export async function verifyLake(
  lake: string,
  owner: Owner,
  kit: VerifyKit,
): Promise<PublishedFacts | undefined> {
  const isLone = kit.isAlone && !kit.hasWork;
  let found: LakeFacts | undefined;
  try {
    found = inspectLake(lake);
    if (found !== undefined) assertOwner(lake, found.manifest, owner);
  } catch (thrown) {
    const { code, message, hint } = toSyncError(thrown);
    const isForeign = code === 'identity_mismatch';
    kit.add('failed', message, isLone && !isForeign ? `${LONE_LAKE_FIX} ${UPGRADE}` : hint);
    return undefined;
  }
  if (found?.manifest.commit === undefined) {
    kit.addMissing(`there is no lake at ${lake}`, await adviseForMissing(lake, kit));
    return undefined;
  }
  const { files, rows, problems } = found;
  for (const detail of problems) kit.add('failed', detail, isLone ? LONE_LAKE_FIX : adviseOnFiles(lake));
  if (problems.length > 0) return undefined;
  kit.add(
    'ok',
    `${lake}: ${formatCountOf(files, 'file')} and ${formatCountOf(rows, 'row')} as its manifest says`,
  );
  const path = join(lake, LAKE_CATALOG);
  if (!existsSync(path)) {
    kit.add('failed', `there is no ${path}`, isLone ? LONE_LAKE_FIX : REPUBLISH_FIX);
    return undefined;
  }
  const damageFix = isLone ? LONE_LAKE_FIX : adviseOnDamage(lake);
  const facts = await kit.read({
    path,
    open: (folders) => openForReading(path, folders),
    findDamages: async (database, tables) =>
      (await findDamagedRows(database, lake, tables)).map((detail) => [detail, damageFix]),
    // The engine says neither what failed nor what repairs it.
    explain: async ({ message, hint }, database) => {
      if (database !== undefined && (await isMoved(database, lake))) return [MOVED, MOVED_FIX];
      const tables = database === undefined ? [] : (readManifest(lake)?.tables ?? []);
      const file = database && (await findUnreadable(database, lake, tables));
      return file === undefined ? [message, hint] : [`${file} is damaged`, damageFix];
    },
  });
  if (facts === undefined) return undefined;
  const { commit } = found.manifest;
  const parting =
    facts.generation === commit ? undefined : findParting(lake, commit, await readFileLineage(path));
  if (parting !== undefined) {
    kit.add('failed', parting.message, parting.hint);
    return undefined;
  }
  // Its own entry is in it.
  const own = { tables: ['_sluice.meta'], why: '_sluice.meta says in a lake where its rows are, too' };
  return { ...facts, comparedAs: 'lake', own };
}

/** What a sync is to do where there is no lake; a folder that nobody knows it would refuse. */
async function adviseForMissing(lake: string, { wasSynced }: VerifyKit): Promise<string> {
  const isEmpty =
    !existsSync(lake) || (await readdir(lake)).every((name) => isHiddenName(LAKE_MANIFEST, name));
  return isEmpty || existsSync(`${lake}/${LAKE_MANIFEST}`)
    ? adviseForUnpublished(wasSynced)
    : `Put ${LAKE_MANIFEST} back from a backup of the lake. Without one, move what is in the folder away and run sluice sync, which publishes a new lake; into a folder with other files it writes nothing.`;
}

/** Which rows of a lake are not those that were published, one sentence per table. */
async function findDamagedRows(
  database: Database,
  lake: string,
  tables: HeldFacts['tables'],
): Promise<readonly string[]> {
  const damages: string[] = [];
  for (const table of await readLakeEntry(database)) {
    const held = tables.get(`main.${table.table}`);
    if (held === undefined) {
      damages.push(`${table.table} has no view in lake.duckdb`);
      continue;
    }
    const wrong = await findWrongRows(database, lake, table, { rows: held.rows, sum: BigInt(held.sum) });
    if (wrong !== undefined) damages.push(wrong);
  }
  return damages;
}
