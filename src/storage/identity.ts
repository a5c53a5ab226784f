import { basename, extname } from 'node:path';
import {
  isRecorded,
  readDestinationRecord,
  recallDestinations,
  writeDestinationRecord,
} from '../../state/destination-record.ts';
import { readMeta, writeMeta } from '../../state/migrations.ts';
import {
  parseUnproved,
  UNPROVED,
  type UnprovedStreams,
  writeUnproved,
} from '../../state/unproved-streams.ts';
import { resolveLinks } from '../files/real-paths.ts';
import { ConfigError } from '../model/errors.ts';
import type { AccountOfConfig } from '../model/account.ts';
import type { OfflineSettings, Settings, SyncOptions } from '../model/settings.ts';
import type { SqlSession } from '../model/sql.ts';
import { listPublishers } from '../publish/registry.ts';
import { listNames } from '../text/list-names.ts';
import type { Database } from '../warehouse/database.ts';
import { listHeldScans } from '../warehouse/held-tables.ts';
import { quoteLiteral } from '../warehouse/identifiers.ts';
import { nameKey } from '../model/hash-key.ts';

const KEY = 'key';

/** SQL for the entries of `_sluice.meta` that change with a commit only: a key may be checked in a run that has none. */
export const IS_OF_COMMIT = `key NOT IN (${[KEY, UNPROVED].map(quoteLiteral).join(', ')})`;

/** How a config's key and destination compare with those of a state. */
export interface Identity {
  /**
   * `other`: the rows were read with a different key. `unknown`: it is not recorded with which, as in a state that was
   * rebuilt from the archive alone.
   */
  readonly key: 'same' | 'other' | 'unknown';
  /** Name of the key that the state has recorded. */
  readonly heldKey: string | undefined;
  /** Where the state publishes to, if that differs from the config. */
  readonly movedFrom: string | undefined;
  /** What was read with a different key, and which one; the recorded key is not checked for it yet. */
  readonly unproved: UnprovedStreams;
  /** Nothing is committed, so there are no rows that could be mixed with those of another key. */
  readonly isBlank: boolean;
}

/**
 * Compares a config with its state. Two configs that share a state folder by mistake differ in both key and
 * destination: one account's data would be published as another's.
 *
 * @throws ConfigError if both differ
 */
export async function judgeIdentity(
  settings: Settings,
  database: Database,
  { acceptNewKey, ofAccount: account }: SyncOptions,
): Promise<Identity> {
  const meta = await readMeta(database);
  const held = meta.get(KEY);
  const key = held === undefined ? 'unknown' : held === nameKey(settings) ? 'same' : 'other';
  const isBlank = !meta.has('generation');
  const movedFrom = isBlank ? undefined : findMove(settings);
  if (movedFrom === undefined || key !== 'other' || acceptNewKey === true)
    return { key, heldKey: held, movedFrom, isBlank, unproved: parseUnproved(meta) };
  const { stateDir } = settings;
  throw new ConfigError(
    `${nameState(settings, account)} belongs to another key and to another destination (${movedFrom}): its rows are not published to ${describePlaces(settings)}`,
    {
      code: 'identity_mismatch',
      hint: `${adviseOwnFolder(settings, account)} If it is the same account and both were changed, sync once with the old destination, or run ${nameAcceptance(account)} once. Nothing was requested, and nothing was written.`,
      context: { path: stateDir },
    },
  );
}

/** Refuses to publish to a different destination if there is no key to identify the account. */
export async function refuseMove(settings: OfflineSettings, database: Database): Promise<void> {
  const isBlank = !(await readMeta(database)).has('generation');
  const movedFrom = isBlank ? undefined : findMove(settings);
  if (movedFrom === undefined) return;
  throw new ConfigError(
    `the state in ${settings.stateDir} belongs to another destination (${movedFrom}) than the config names (${describePlaces(settings)})`,
    {
      code: 'identity_mismatch',
      hint: `If the destination moved, run \`sluice sync\` first: it publishes there. ${adviseOwnFolder(settings)} Nothing was written.`,
      context: { path: settings.stateDir },
    },
  );
}

/** Name of the key that a state has recorded; undefined if none is. */
export async function readKeyName(session: SqlSession): Promise<string | undefined> {
  return (await readMeta(session)).get(KEY);
}

/** Whether the key must show that it reads the rows of the state. */
export function isNewKey({ key, isBlank }: Identity): boolean {
  return key !== 'same' && !isBlank;
}

/** What the next sync will report about a config's key and destination; undefined if both match the state. */
export function describeIdentity({ key, isBlank, movedFrom, unproved }: Identity): string | undefined {
  const said = [
    key === 'same' && unproved.size > 0
      ? `the rows of ${listNames([...unproved.keys()])} were read with a different key: the next sync of them first checks that this key reads the same data`
      : '',
    key === 'other'
      ? 'the key is not the one the tables were read with: the next sync first checks that it reads the same data'
      : '',
    key === 'unknown' && !isBlank
      ? 'it is not recorded which key the tables were read with: the next sync first checks that this one reads the same data'
      : '',
    movedFrom === undefined ? '' : `the destination was ${movedFrom}: the next sync publishes to the new one`,
  ].filter((text) => text !== '');
  return said.length === 0 ? undefined : said.join('; ');
}

/** The command that takes a key for a new one of the same account, whatever it returns. */
export function nameAcceptance(account: AccountOfConfig | undefined): string {
  if (account?.isOfFleet === true) return `\`sluice fleet run ${account.name} --accept-new-key\``;
  return `\`sluice sync${nameOption(account)} --accept-new-key\``;
}

/** How the rows of an account are read again, where they are of another one. */
export function adviseReset(account: AccountOfConfig | undefined): string {
  if (account?.isOfFleet === true)
    return `pause it (\`sluice fleet pause ${account.name}\`), delete what it has published, run \`sluice fleet repair ${account.name} --forget-state\` and then \`sluice fleet run ${account.name}\``;
  return `run \`sluice state reset${nameOption(account)} --drop-tables\` and sync again`;
}

/** A state as people know it: the folder that a machine of a fleet has of it says nothing. */
export function nameState(
  { stateDir }: Pick<OfflineSettings, 'stateDir'>,
  account?: AccountOfConfig,
): string {
  return account?.isOfFleet === true ? `the state of ${account.name}` : `the state in ${stateDir}`;
}

function nameOption(account: AccountOfConfig | undefined): string {
  return account === undefined ? '' : ` --accounts ${account.name}`;
}

/** Advice for a config, or an account of one, whose state folder has the rows of another. */
export function adviseOwnFolder(settings: OfflineSettings, account?: AccountOfConfig): string {
  if (account !== undefined)
    return `For another account, add its name below accounts; ${account.name} keeps what it has.`;
  const { configPath } = settings;
  const named = configPath ?? listPublishers(settings)[0]?.place ?? '';
  const base = basename(named, extname(named)).replace(/[^\w.-]/g, '-');
  // The state folder without a name is the one that both use now.
  const name = base === 'sluice' ? 'other' : base;
  const where = configPath === undefined ? 'the config' : basename(configPath);
  return `For another account, write "stateDir: ./.sluice-${name}" and a destination of its own into ${where}: no two accounts share them.`;
}

/** Records key and destination as those of the state, and the streams that the key is not checked for. */
export async function rememberIdentity(
  settings: Settings,
  database: Database,
  unproved: UnprovedStreams,
): Promise<void> {
  const own = nameKey(settings);
  const held = await readMeta(database);
  // Both at once: a key without its list would count as the key of all rows.
  if (held.get(KEY) !== own || !isSameList(parseUnproved(held), unproved))
    await database.transaction(async () => {
      await writeMeta(database, KEY, own);
      await writeUnproved(database, unproved);
    });
  const { stateDir } = settings;
  const record = { stateDir: resolveLinks(stateDir), places: listPlaces(settings) };
  if (JSON.stringify(readDestinationRecord(stateDir)) !== JSON.stringify(record))
    writeDestinationRecord(stateDir, record);
}

function isSameList(one: UnprovedStreams, other: UnprovedStreams): boolean {
  return one.size === other.size && [...one].every(([stream, key]) => other.get(stream) === key);
}

/** The scans whose rows were read with a different key and must be compared first. */
export async function readOpen(settings: Settings, database: Database): Promise<UnprovedStreams> {
  const meta = await readMeta(database);
  const own = nameKey(settings);
  const listed = parseUnproved(meta);
  const open = [...listed].filter(([, key]) => key !== own);
  const held = meta.get(KEY);
  if (held === undefined || held === own) return new Map(open);
  // A state that was restored during the run has the key it was published with.
  const scans = (await listHeldScans(database)).filter(({ name }) => listed.get(name) !== own);
  return new Map([...scans.map(({ name }) => [name, held] as const), ...open]);
}

/** Where a state published to, if the config has none of these destinations; undefined if that was never recorded. */
function findMove(settings: OfflineSettings): string | undefined {
  const { stateDir } = settings;
  const record = recallDestinations(stateDir);
  if (record === undefined) return undefined;
  const held = Object.values(record.places);
  const isSame = isRecorded(record, stateDir, Object.values(listPlaces(settings)));
  return isSame || held.length === 0 ? undefined : held.join(', ');
}

/** Where each destination is, by its name in the config. */
function listPlaces(settings: OfflineSettings): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listPublishers(settings).map(({ name, local, place }) => [name, local?.target ?? place]),
  );
}

function describePlaces(settings: OfflineSettings): string {
  return listPublishers(settings)
    .map(({ place }) => place)
    .join(', ');
}
