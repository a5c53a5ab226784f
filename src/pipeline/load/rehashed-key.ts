import { StreamConfigError } from '../../model/errors.ts';
import { nameOf, type Stream } from '../../model/stream.ts';
import { toFieldName } from '../../schema/field-paths.ts';
import { namesField } from '../../schema/field-rules.ts';
import type { PreparedLoad } from '../scan.ts';

/** Columns of the key whose hashes are made with another key since the last sync: no row is found again by them. */
function findRehashed({ key, columns, columnChanges }: PreparedLoad): readonly string[] {
  const { rehashed } = columnChanges;
  if (rehashed.length === 0 || key === undefined) return [];
  return columns
    .filter(({ name, companion }) => key.columns.includes(name) && !companion)
    .filter(({ path }) => rehashed.some((field) => namesField(field, path.map(toFieldName))))
    .map(({ name }) => name);
}

/** Refuses what looks as if all rows had gone, where it is their key that has other hashes. */
export function refuseRehashed(stream: Stream, load: PreparedLoad, held: number): void {
  const columns = findRehashed(load);
  if (columns.length === 0) return;
  throw new StreamConfigError(
    `${nameOf(stream)}: defaults.hashKey is another one than at its last sync, and its key (${columns.join(', ')}) is hashed: none of its ${held} rows is found again`,
    {
      code: 'config_invalid',
      hint: `The table is as it was. Set the former hashKey back; or begin anew with this one: \`sluice state reset ${stream.name} --drop-tables\`, then \`sluice sync --streams ${stream.name}\`.`,
      context: { stream: stream.name },
    },
  );
}

/** Rows by the former hashes stay beside the same rows by the new ones, where `deletes` keeps rows. */
export function describeRehashed(stream: Stream, load: PreparedLoad, inserted: number): readonly string[] {
  const columns = findRehashed(load);
  if (columns.length === 0 || inserted === 0) return [];
  return [
    `${nameOf(stream)}: defaults.hashKey is another one than at its last sync, and its key (${columns.join(', ')}) is hashed: ${inserted} rows are new ones, and those by the former hashes stay beside them. To begin anew: \`sluice state reset ${stream.name} --drop-tables\`, then \`sluice sync --streams ${stream.name}\``,
  ];
}
