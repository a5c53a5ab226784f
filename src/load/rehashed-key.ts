import { StreamConfigError } from '../model/errors.ts';
import { nameOf, type Stream } from '../model/stream.ts';
import { toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import type { PreparedLoad } from '../run/scan.ts';

/** Key columns hashed with a different key since the last sync: they match no existing row. */
function findRehashed({ key, columns, columnChanges }: PreparedLoad): readonly string[] {
  const { rehashed } = columnChanges;
  if (rehashed.length === 0 || key === undefined) return [];
  return columns
    .filter(({ name, companion }) => key.columns.includes(name) && !companion)
    .filter(({ path }) => rehashed.some((field) => namesField(field, path.map(toFieldName))))
    .map(({ name }) => name);
}

/** Throws if all rows seem to be gone but only their hashed key changed. */
export function refuseRehashed(stream: Stream, load: PreparedLoad, held: number): void {
  const columns = findRehashed(load);
  if (columns.length === 0) return;
  throw new StreamConfigError(
    `${nameOf(stream)}: defaults.hashKey changed since its last sync, and its key (${columns.join(', ')}) is hashed: none of the ${held} existing rows can be matched`,
    {
      code: 'config_invalid',
      hint: `The table is unchanged. Restore the old hashKey; or start over with this one: \`sluice state reset ${stream.name} --drop-tables\`, then \`sluice sync --streams ${stream.name}\`.`,
      context: { stream: stream.name },
    },
  );
}

/** If `deletes` keeps rows, those with the old hashes stay next to the same rows with the new hashes. */
export function describeRehashed(stream: Stream, load: PreparedLoad, inserted: number): readonly string[] {
  const columns = findRehashed(load);
  if (columns.length === 0 || inserted === 0) return [];
  return [
    `${nameOf(stream)}: defaults.hashKey changed since its last sync, and its key (${columns.join(', ')}) is hashed: ${inserted} rows are new, and those with the old hashes stay next to them. To start over: \`sluice state reset ${stream.name} --drop-tables\`, then \`sluice sync --streams ${stream.name}\``,
  ];
}
