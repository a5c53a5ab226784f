import { storedNames } from '../../load/key-columns.ts';
import { selectStreams } from '../../config/select-streams.ts';
import type { ExportedTable } from '../../contract/exported-table.ts';
import { readNotes } from '../../contract/field-notes.ts';
import { type ContractField, toJsonSchema } from '../../contract/to-json-schema.ts';
import { toSql } from '../../contract/to-sql.ts';
import { toTypeScript } from '../../contract/to-typescript.ts';
import type { ExportFormat, SchemaExport } from '../../model/schema-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { companionSource } from '../../schema/field-paths.ts';
import { pathKey } from '../../schema/name-columns.ts';
import type { Database } from '../../warehouse/database.ts';
import { countFilled, listFewValues } from '../../warehouse/column-facts.ts';
import { withPublished } from '../../warehouse/query-published.ts';
import { describeMissing, describeTables, type LearnedStream, readLearned } from './describe-tables.ts';
import { withoutForced } from './read-schema.ts';
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
    if (learned.length === 0) throw describeMissing(selected.map(({ name }) => name).join(', '));
    const names = learned.map(({ stream }) => stream.name);
    if (format === 'json-schema') {
      const files = [];
      for (const one of learned) files.push(await exportContract(database, one, enums));
      return { format, streams: names, files };
    }
    const tables = await describeTables(database, learned);
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
