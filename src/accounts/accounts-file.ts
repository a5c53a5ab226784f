import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { z } from 'zod';
import { FILE_CONFIG, FILE_CONTENT, FILE_KIND, FILE_SOURCES } from '../../state/file-kind.ts';
import { readMeta } from '../../state/migrations.ts';
import { resolveLinks } from '../files/real-paths.ts';
import { PublishError } from '../model/errors.ts';
import type { SqlSession } from '../model/sql.ts';
import { version } from '../model/version.ts';
import { listNames } from '../text/list-names.ts';
import type { AttachedAccount } from '../warehouse/attach-accounts.ts';
import { isUnknownTable } from '../warehouse/database-errors.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import type { Database } from '../warehouse/database.ts';
import { fingerprintTables } from '../warehouse/fingerprint-tables.ts';
import { lookInto } from '../warehouse/look-into.ts';

/** What a file for several accounts contains: their rows, or views over their lakes. */
export type AccountsFileKind = 'combined' | 'views';

const KINDS: Readonly<Record<string, string>> = {
  combined: 'has the rows of several accounts',
  views: 'has the views over several lakes',
};

/** Files of an earlier format are written again. */
const FORMAT = 3;

const sourceSchema = z.object({
  account: z.string(),
  /** The commit that is in the file. */
  generation: z.string().optional(),
  /** Changes with anything in the file: a lake may be published again without a commit, or by another release. */
  mark: z.string(),
});

/** What such a file contains of one account. */
export type AccountSource = z.infer<typeof sourceSchema>;

/** Who a file belongs to. */
export interface FileOwner {
  readonly kind: AccountsFileKind;
  /** Names of all accounts. */
  readonly accounts: readonly string[];
  /** Path of the config, or another path that only this config has; undefined without one. */
  readonly config?: string | undefined;
}

/**
 * What a file was made from; undefined if there is no file. A file is ours if it names the same config, even if accounts
 * were renamed, or has an account of the same name: the config may have been moved.
 *
 * @throws PublishError (2) for a file of another program, of another kind or of other accounts: it must stay
 */
export async function readSources(
  file: string,
  { kind, accounts, config }: FileOwner,
): Promise<readonly AccountSource[] | undefined> {
  if (!existsSync(file)) return undefined;
  const meta = statSync(file).size > 0 ? await lookInto(file, readMeta) : undefined;
  const held = meta?.get(FILE_KIND);
  if (held !== kind) throw refuse(file, KINDS[held ?? ''] ?? describeForeign(meta));
  const sources = parseSources(meta);
  const names = sources.map(({ account }) => account);
  const isSame = config !== undefined && meta?.get(FILE_CONFIG) === describeConfig(file, config);
  if (names.length > 0 && !isSame && !names.some((name) => accounts.includes(name)))
    throw refuse(file, `has the data of other accounts (${listNames(names)})`);
  return sources;
}

/** What a file of this kind was made from; undefined if there is no file, or a different one. */
export async function readOwnSources(
  file: string,
  kind: AccountsFileKind,
): Promise<readonly AccountSource[] | undefined> {
  if (!existsSync(file)) return undefined;
  const meta = await lookInto(file, readMeta);
  return meta?.get(FILE_KIND) === kind ? parseSources(meta) : undefined;
}

function parseSources(meta: ReadonlyMap<string, string> | undefined): readonly AccountSource[] {
  return z.array(sourceSchema).parse(JSON.parse(meta?.get(FILE_SOURCES) ?? '[]'));
}

/** A project that is moved or mounted elsewhere stays the same. */
function describeConfig(file: string, config: string): string {
  return relative(dirname(resolveLinks(file)), resolveLinks(config));
}

function describeForeign(meta: ReadonlyMap<string, string> | undefined): string {
  return meta?.has('schema_version') === true
    ? 'has the state of one account'
    : 'was not written by Sluice, or is damaged';
}

function refuse(file: string, why: string): PublishError {
  return new PublishError(`${file} ${why}; it is not replaced`, {
    code: 'publish_refused',
    hint: 'Name another file in the config, or move this one away. The data of each account is published where it belongs.',
    context: { path: file },
    exitCode: 2,
  });
}

/**
 * What a file is made from, with the files of the accounts attached.
 *
 * @throws PublishError (2) naming an account whose file has no state of Sluice
 */
export async function describeSources(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
): Promise<readonly AccountSource[]> {
  const sources: AccountSource[] = [];
  for (const { account, file, prefix } of accounts) {
    const meta = await readAccountMeta(session, prefix);
    const generation = meta.find(([key]) => key === 'generation')?.[1];
    if (!meta.some(([key]) => key === 'schema_version')) {
      throw new PublishError(`account ${account}: ${file} was not written by Sluice`, {
        code: 'publish_refused',
        hint: `Move it away and run \`sluice sync\`, which publishes the account again. Nothing was changed.`,
        context: { path: file },
        exitCode: 2,
      });
    }
    const mark = createHash('sha256')
      .update(JSON.stringify([FORMAT, version, file, meta]))
      .digest('hex');
    sources.push({ account, generation, mark });
  }
  return sources;
}

/** What the file of an account says about itself; empty for a file of another program. */
export async function readAccountMeta(
  session: SqlSession,
  prefix: string,
): Promise<readonly (readonly [key: string, value: string])[]> {
  try {
    const rows = await session.all(`SELECT key, value FROM ${prefix}_sluice.meta ORDER BY ALL`);
    return rows.map(({ key, value }) => [String(key), String(value)]);
  } catch (thrown) {
    if (isUnknownTable(thrown)) return [];
    throw thrown;
  }
}

/** Records in a file what it is and what it was made from: no command may take it for the file of one account. */
export async function writeSources(
  session: SqlSession,
  file: string,
  { kind, config }: Omit<FileOwner, 'accounts'>,
  sources: readonly AccountSource[],
): Promise<void> {
  await session.run('CREATE TABLE _sluice.meta (key VARCHAR, value VARCHAR)');
  await session.run('INSERT INTO _sluice.meta VALUES ($1, $2), ($3, $4)', [
    FILE_KIND,
    kind,
    FILE_SOURCES,
    JSON.stringify(sources),
  ]);
  if (config === undefined) return;
  await session.run('INSERT INTO _sluice.meta VALUES ($1, $2)', [FILE_CONFIG, describeConfig(file, config)]);
}

/** Records what a file with rows contains now, to see later whether another program has changed it. */
export async function writeContent(database: Database): Promise<void> {
  await database.run('INSERT INTO _sluice.meta VALUES ($1, $2)', [FILE_CONTENT, await sumContent(database)]);
}

/** Whether all values of a file can be read, and are those that it was written with, as far as that is recorded. */
export async function hasItsContent(file: string): Promise<boolean> {
  const compare = async (database: Database) => {
    const written = (await readMeta(database)).get(FILE_CONTENT);
    // A block may be damaged, and what another program left there may not be readable as a table.
    if (written !== undefined) return written === (await sumContent(database).catch(() => undefined));
    await checkReadable(database);
    return true;
  };
  return (await lookInto(file, compare)) === true;
}

/** A checksum of all rows but those of `_sluice.meta`, and of the names of the views. */
async function sumContent(database: Database): Promise<string> {
  const tables = await fingerprintTables(database, { '_sluice.meta': 'false' });
  const views = await database.all(
    `SELECT schema_name AS schema, view_name AS view FROM duckdb_views()
       WHERE database_name = current_database() AND NOT internal ORDER BY ALL`,
  );
  const content = JSON.stringify([[...tables.values()], views]);
  return createHash('sha256').update(content).digest('hex');
}
