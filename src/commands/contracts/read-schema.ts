import path from 'node:path';
import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { readNotes } from '../../contract/field-notes.ts';
import { diffContract } from '../../contract/diff-contract.ts';
import { ConfigError } from '../../model/errors.ts';
import type {
  RecordedChange,
  SchemaDiff,
  ShownColumn,
  StreamDiff,
  StreamSchema,
} from '../../model/schema-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type SqlRow, toIso } from '../../model/sql.ts';
import type { LearnedColumn, Stream } from '../../model/stream.ts';
import { companionSource, toFieldName } from '../../schema/field-paths.ts';
import { namesField } from '../../schema/field-rules.ts';
import { pathKey } from '../../schema/name-columns.ts';
import type { Database } from '../../warehouse/database.ts';
import { withPublished } from '../../warehouse/query-published.ts';

export interface SchemaOptions {
  readonly streams?: readonly string[];
}

/** What is known about the columns of each stream, from the published file and the config. */
export async function showSchema(
  settings: OfflineSettings,
  { streams }: SchemaOptions = {},
): Promise<readonly StreamSchema[]> {
  const selected = selectStreams(settings, streams);
  return withPublished(settings, async (database) => {
    const shown: StreamSchema[] = [];
    for (const stream of selected) {
      const learned = await readContract(database, stream.name);
      const since = await readAdditions(database, stream.name);
      shown.push({
        stream: stream.name,
        modes: { columns: stream.contract.columns, types: stream.contract.types },
        file: nameFile(settings, stream),
        description: readNotes(stream.contract.schema?.json)([]).description,
        columns: learned.map((column) => showColumn(stream, column, learned, since)),
      });
    }
    return shown;
  });
}

function showColumn(
  { columns: rules, contract }: Stream,
  { path: fieldPath, name, type, absentSince }: LearnedColumn,
  learned: readonly LearnedColumn[],
  since: ReadonlyMap<string, string>,
): ShownColumn {
  const source = companionSource(fieldPath);
  const names = (source ?? fieldPath).map(toFieldName);
  const main = source && learned.find((other) => pathKey(other.path) === pathKey(source));
  const rule = Object.entries(rules).find(([field]) => field === name || namesField(field, names))?.[1];
  return {
    name,
    type,
    field: names.join('.'),
    companionOf: main?.name,
    since: since.get(name),
    absentSince,
    rule:
      rule === undefined || source !== undefined ? undefined : rule.kind === 'type' ? rule.type : rule.kind,
    ...readNotes(contract.schema?.json)(names),
  };
}

/** The last run that added each column. */
async function readAdditions(database: Database, stream: string): Promise<ReadonlyMap<string, string>> {
  const rows = await database.all(
    `SELECT column_name, max_by(run_id, changed_at) AS run_id FROM _sluice.schema_changes
       WHERE stream = $1 AND change = 'added' GROUP BY 1`,
    [stream],
  );
  return new Map(rows.map((row) => [String(row['column_name']), String(row['run_id'])]));
}

/** How the contract files differ from what was learned; with `since`, what changed from that run on. */
export async function diffSchema(
  settings: OfflineSettings,
  { streams, since }: SchemaOptions & { readonly since?: string } = {},
): Promise<SchemaDiff> {
  const selected = selectStreams(settings, streams);
  return withPublished(settings, async (database) => {
    if (since !== undefined) {
      const changes = await readChanges(database, selected, since);
      return { streams: [], changes, differs: changes.length > 0 };
    }
    const diffs: StreamDiff[] = [];
    for (const stream of selected) {
      const { schema } = stream.contract;
      if (schema === undefined) continue;
      const learned = withoutForced(stream, await readContract(database, stream.name));
      const differences = diffContract(schema.json, learned);
      diffs.push({ stream: stream.name, file: nameFile(settings, stream) ?? '', differences });
    }
    return { streams: diffs, changes: [], differs: diffs.some(({ differences }) => differences.length > 0) };
  });
}

/** If config sets a column's type, its learned type says nothing about later values. */
export function withoutForced(
  { columns: rules }: Stream,
  learned: readonly LearnedColumn[],
): readonly LearnedColumn[] {
  const fields = Object.entries(rules).flatMap(([field, { kind }]) => (kind === 'type' ? [field] : []));
  const isForced = ({ name, path: fieldPath }: LearnedColumn) =>
    fields.some((field) => field === name || namesField(field, fieldPath.map(toFieldName)));
  return learned.map((column) => (isForced(column) ? { ...column, type: 'JSON' } : column));
}

async function readChanges(
  database: Database,
  streams: readonly Stream[],
  since: string,
): Promise<readonly RecordedChange[]> {
  const [run] = await database.all('SELECT started_at FROM _sluice.runs WHERE run_id = $1', [since]);
  if (run === undefined) {
    throw new ConfigError(`no run has the id ${since}`, {
      code: 'usage_invalid',
      hint: '`sluice runs` lists the runs. Runs older than retention.runs are deleted.',
    });
  }
  const names = streams.map((_, at) => `$${at + 2}`).join(', ');
  const rows = await database.all(
    `SELECT * FROM _sluice.schema_changes WHERE stream IN (${names})
       AND (run_id = $1 OR changed_at >= (SELECT started_at FROM _sluice.runs WHERE run_id = $1))
       ORDER BY changed_at, stream, column_name`,
    [since, ...streams.map(({ name }) => name)],
  );
  return rows.map(toRecordedChange);
}

/** A row of `_sluice.schema_changes` as in reports. */
export function toRecordedChange(row: SqlRow): RecordedChange {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    runId: String(row['run_id']),
    stream: String(row['stream']),
    column: String(row['column_name']),
    change: String(row['change']),
    fromType: text(row['from_type']),
    toType: text(row['to_type']),
    changedAt: toIso(row['changed_at']),
  };
}

/** A contract file's path, relative to the folder of the config. */
function nameFile({ configPath }: OfflineSettings, { contract }: Stream): string | undefined {
  const file = contract.schema?.path;
  if (file === undefined || configPath === undefined) return file;
  return path.relative(path.dirname(configPath), file);
}

/** Keys of streams, from their checkpoints; a slice has its stream's key. */
export async function readKeys(database: Database): Promise<ReadonlyMap<string, readonly string[]>> {
  const checkpoints = await readCheckpoints(database);
  return new Map(checkpoints.flatMap(({ stream, keyFields }) => (keyFields ? [[stream, keyFields]] : [])));
}
