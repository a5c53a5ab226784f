import { readContract } from '../../../state/checkpoints.ts';
import { storedNames } from '../../load/key-columns.ts';
import { selectStreams } from '../../config/select-streams.ts';
import type { ExportedColumn, ExportedTable } from '../../contract/exported-table.ts';
import { readNotes } from '../../contract/field-notes.ts';
import { type ContractField, toJsonSchema } from '../../contract/to-json-schema.ts';
import { toSql } from '../../contract/to-sql.ts';
import { toTypeScript } from '../../contract/to-typescript.ts';
import { ConfigError } from '../../model/errors.ts';
import type { FieldNotes } from '../../model/schema.ts';
import type { ExportFormat, SchemaExport } from '../../model/schema-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { LearnedColumn, Stream } from '../../model/stream.ts';
import { companionSource, toFieldName } from '../../schema/field-paths.ts';
import { pathKey } from '../../schema/name-columns.ts';
import type { Database } from '../../warehouse/database.ts';
import { countFilled, listFewValues } from '../../warehouse/column-facts.ts';
import { readColumns, tableExists } from '../../warehouse/evolve-table.ts';
import { withPublished } from '../../warehouse/query-published.ts';
import { readKeys, withoutForced } from './read-schema.ts';
import { writeDbtSources } from './write-dbt-sources.ts';

export interface ExportOptions {
  readonly streams?: readonly string[];
  readonly format: ExportFormat;
  /** Lists the values of text columns that have only a few. */
  readonly enums?: boolean;
}

/** The learned schema of published streams in another tool's format. */
export async function exportSchema(
  settings: OfflineSettings,
  { streams, format, enums = false }: ExportOptions,
): Promise<SchemaExport> {
  const selected = selectStreams(settings, streams);
  return withPublished(settings, async (database) => {
    const learned = await readLearned(database, selected, streams !== undefined);
    const names = learned.map(({ stream }) => stream.name);
    if (format === 'json-schema') {
      const files = [];
      for (const one of learned) files.push(await exportContract(database, one, enums));
      return { format, streams: names, files };
    }
    const tables: ExportedTable[] = [];
    const keys = await readKeys(database);
    for (const one of learned) tables.push(await describeTable(database, one, keys.get(one.stream.name)));
    const text = format === 'dbt' ? await writeDbtSources(database, settings, tables) : write(format, tables);
    return { format, streams: names, files: [{ stream: undefined, text }] };
  });
}

function write(
  format: Exclude<ExportFormat, 'json-schema' | 'dbt'>,
  tables: readonly ExportedTable[],
): string {
  return format === 'typescript' ? toTypeScript(tables) : toSql(tables);
}

interface LearnedStream {
  readonly stream: Stream;
  readonly columns: readonly LearnedColumn[];
}

/** Streams with a published table; a named stream without one is an error. */
async function readLearned(
  database: Database,
  streams: readonly Stream[],
  isNamed: boolean,
): Promise<readonly LearnedStream[]> {
  const found: LearnedStream[] = [];
  for (const stream of streams) {
    const columns = await readContract(database, stream.name);
    if (await tableExists(database, stream.table)) found.push({ stream, columns });
    else if (isNamed) throw describeMissing(stream.name);
  }
  if (found.length === 0) throw describeMissing(streams.map(({ name }) => name).join(', '));
  return found;
}

function describeMissing(name: string): ConfigError {
  return new ConfigError(`no table of ${name} is published yet`, {
    code: 'query_failed',
    hint: 'Run `sluice sync` first.',
  });
}

async function exportContract(
  database: Database,
  { stream, columns }: LearnedStream,
  enums: boolean,
): Promise<SchemaExport['files'][number]> {
  const { rows, filled } = await countFilled(database, stream.table, storedNames(columns));
  const beside = new Set(
    columns
      .map(({ path }) => companionSource(path))
      .filter((path) => path !== undefined)
      .map(pathKey),
  );
  const findNotes = readNotes(stream.contract.schema?.json);
  const fields: ContractField[] = [];
  for (const column of withoutForced(stream, columns)) {
    const { path, name, type, absentSince, jsonTypes } = column;
    const required = rows > 0 && filled.get(name) === rows && absentSince === undefined;
    const isMixed = beside.has(pathKey(path));
    const isText = type === 'VARCHAR' && !isMixed && jsonTypes?.join() === 'string';
    const values = enums && isText ? await listFewValues(database, stream.table, name) : undefined;
    fields.push({ path, type: isMixed ? 'JSON' : type, jsonTypes, required, nullable: !required, values });
  }
  const text = `${JSON.stringify(toJsonSchema(stream.name, fields, findNotes), undefined, 2)}\n`;
  return { stream: stream.name, text };
}

async function describeTable(
  database: Database,
  { stream, columns }: LearnedStream,
  key: readonly string[] | undefined,
): Promise<ExportedTable> {
  const held = await readColumns(database, stream.table);
  const { rows, filled } = await countFilled(database, stream.table, storedNames(columns));
  const fields = new Map(columns.map((column) => [column.name, column]));
  const findNotes = readNotes(stream.contract.schema?.json);
  return {
    description: findNotes([]).description,
    stream: stream.name,
    table: stream.table,
    key,
    columns: [...held].map(([name, engineType]): ExportedColumn => {
      const column = fields.get(name);
      const type = column?.type ?? engineType.replace(' WITH TIME ZONE', 'TZ');
      return {
        name,
        type: type as ExportedColumn['type'],
        field: column && nameField(column),
        ...(column === undefined ? NO_NOTES : findNotes(listNames(column))),
        required: column !== undefined && rows > 0 && filled.get(name) === rows,
      };
    }),
  };
}

const NO_NOTES: FieldNotes = { description: undefined, unit: undefined };

function listNames({ path }: LearnedColumn): readonly string[] {
  return (companionSource(path) ?? path).map(toFieldName);
}

function nameField({ path }: LearnedColumn): string {
  const source = companionSource(path);
  const field = (source ?? path).map(toFieldName).join('.');
  return source === undefined ? field : `${field}, what its column cannot hold`;
}
