import { basename, dirname } from 'node:path';
import { selectStreams } from '../../config/select-streams.ts';
import { joinDbtTables } from '../../contract/join-dbt-tables.ts';
import { type DbtTable, toDbtSources } from '../../contract/to-dbt.ts';
import { ConfigError } from '../../model/errors.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import type { SchemaExport } from '../../model/schema-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { Database } from '../../warehouse/database.ts';
import { readColumns, readColumnsOf } from '../../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { nameDatabase, openPublished, withPublished } from '../../warehouse/query-published.ts';
import { type DbtFacts, findDbtFacts } from './dbt-facts.ts';
import { describeMissing, describeTables, readLearned, toColumnType } from './describe-tables.ts';

export interface JointExportRequest {
  /** Absolute path of the file with the tables of all accounts, or with views over all lakes. */
  readonly file: string;
  /** All accounts of the config. */
  readonly accounts: readonly { readonly name: string; readonly settings: OfflineSettings }[];
  /** Names; all streams without. */
  readonly streams?: readonly string[] | undefined;
}

/** What is known of a table of one account. */
interface AccountFacts extends DbtFacts {
  readonly account: string;
}

/**
 * A dbt `sources.yml` of the tables of all accounts: each with the column that names the account.
 *
 * @throws ConfigError (2) before anything joins the accounts, and for names that no account has
 */
export async function exportJointSchema({
  file,
  accounts,
  streams,
}: JointExportRequest): Promise<SchemaExport> {
  const names = findNames(accounts, streams);
  const joint = await openJoint(file);
  try {
    const joined = await listJoined(joint);
    const facts: AccountFacts[] = [];
    for (const { name, settings } of accounts) {
      // It has published nothing yet.
      if (!joined.has(name)) continue;
      const own = settings.streams.filter((stream) => names.includes(stream.name));
      const found = await withPublished(settings, async (database) =>
        findDbtFacts(
          database,
          settings,
          await describeTables(database, await readLearned(database, own, false)),
        ),
      );
      facts.push(...found.map((one) => ({ ...one, account: name })));
    }
    const database = nameDatabase(file) ?? 'memory';
    const tables: DbtTable[] = [];
    for (const stream of names) {
      const parts = facts.filter((one) => one.stream === stream);
      const table = await joinParts(joint, parts, database);
      if (table !== undefined) tables.push(table);
      else if (streams !== undefined) throw describeMissing(stream);
    }
    if (tables.length === 0) throw describeMissing(names.join(', '));
    const text = toDbtSources(tables, database);
    return {
      format: 'dbt',
      streams: tables.map(({ stream }) => stream),
      files: [{ stream: undefined, text }],
    };
  } finally {
    await joint.release();
  }
}

/** Opens the file; views over lakes read the files next to it, even to say which columns they have. */
async function openJoint(file: string): Promise<Database> {
  const joint = await openPublished(file);
  if (basename(file) !== LAKE_CATALOG) return joint;
  await joint.release();
  return Database.open({ file, readOnly: true, isPublished: true, folders: [], views: [dirname(file)] });
}

/** The streams that any account has, in the order of the config. */
function findNames(
  accounts: JointExportRequest['accounts'],
  streams: readonly string[] | undefined,
): readonly string[] {
  const all = new Map(
    accounts.flatMap(({ settings }) => settings.streams.map((stream) => [stream.name, stream])),
  );
  return selectStreams({ streams: [...all.values()], disabledStreams: [] }, streams).map(({ name }) => name);
}

/** The accounts whose rows a file has; throws for a file that joins none. */
async function listJoined(joint: Database): Promise<ReadonlySet<string>> {
  const columns = await readColumnsOf(joint, '_sluice.checkpoints');
  if (!columns.has('account'))
    throw new ConfigError('the file of all accounts was not written by Sluice', {
      code: 'publish_refused',
      hint: 'Set destination.combined to another file, or move this one away.',
    });
  const rows = await joint.all('SELECT DISTINCT account FROM _sluice.checkpoints');
  return new Set(rows.map((row) => String(row['account'])));
}

/** The table with the rows of all of these; undefined if there is none. */
async function joinParts(
  joint: Database,
  parts: readonly AccountFacts[],
  database: string,
): Promise<DbtTable | undefined> {
  const [first] = parts;
  if (first === undefined) return undefined;
  const held = [...(await readColumns(joint, first.table))].map(([name, type]) => ({
    name,
    type: toColumnType(type) as DbtTable['columns'][number]['type'],
  }));
  if (held.length === 0) return undefined;
  return {
    ...joinDbtTables({ table: first.table, columns: held }, parts),
    loadedAt: selectVerified(database, parts),
    location: undefined,
  };
}

/** When the account was last verified for which that is longest ago, with its slices; NULL if one never was. */
function selectVerified(database: string, parts: readonly AccountFacts[]): string {
  const expected = parts.flatMap(({ account, slices }) =>
    slices.map((slice) => `(${quoteLiteral(account)}, ${quoteLiteral(slice)})`),
  );
  const stream = quoteLiteral(parts[0]?.stream ?? '');
  return (
    `select case when count(last_verified_at) = ${expected.length} then min(last_verified_at) end ` +
    `from ${quoteIdentifier(database)}._sluice.checkpoints where stream = ${stream} ` +
    `and (account, slice) in (${expected.join(', ')})`
  );
}
