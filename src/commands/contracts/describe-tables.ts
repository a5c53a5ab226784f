import { readContract } from '../../../state/checkpoints.ts';
import type { ExportedColumn, ExportedTable } from '../../contract/exported-table.ts';
import { readNotes } from '../../contract/field-notes.ts';
import { storedNames } from '../../load/key-columns.ts';
import { ConfigError } from '../../model/errors.ts';
import type { FieldNotes } from '../../model/schema.ts';
import type { LearnedColumn, Stream } from '../../model/stream.ts';
import { companionSource, toFieldName } from '../../schema/field-paths.ts';
import { countFilled } from '../../warehouse/column-facts.ts';
import type { Database } from '../../warehouse/database.ts';
import { readColumns, tableExists } from '../../warehouse/evolve-table.ts';
import { readKeys } from './read-schema.ts';

export interface LearnedStream {
  readonly stream: Stream;
  readonly columns: readonly LearnedColumn[];
}

/** Streams with a published table; if `isNamed`, one without is an error. */
export async function readLearned(
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
  return found;
}

/** The error of streams without a published table. */
export function describeMissing(name: string): ConfigError {
  return new ConfigError(`no table of ${name} is published yet`, {
    code: 'query_failed',
    hint: 'Run `sluice sync` first.',
  });
}

/** The published tables of streams, as exports describe them. */
export async function describeTables(
  database: Database,
  learned: readonly LearnedStream[],
): Promise<readonly ExportedTable[]> {
  const tables: ExportedTable[] = [];
  const keys = await readKeys(database);
  for (const one of learned) tables.push(await describeTable(database, one, keys.get(one.stream.name)));
  return tables;
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
    // The same key in two slices is two rows.
    key: key && (held.has('_slice') ? [...key, '_slice'] : key),
    columns: [...held].map(([name, engineType]): ExportedColumn => {
      const column = fields.get(name);
      return {
        name,
        type: (column?.type ?? toColumnType(engineType)) as ExportedColumn['type'],
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

/** A type of the engine as we write it. */
export function toColumnType(engineType: string): string {
  return engineType.replace(' WITH TIME ZONE', 'TZ');
}

function nameField({ path }: LearnedColumn): string {
  const source = companionSource(path);
  const field = (source ?? path).map(toFieldName).join('.');
  return source === undefined ? field : `${field}, what its column cannot hold`;
}
