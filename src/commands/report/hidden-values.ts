import { readMeta } from '../../../state/migrations.ts';
import type { ColumnRule } from '../../model/schema.ts';
import type { LearnedColumn, Stream } from '../../model/stream.ts';
import { findMaskedColumns } from '../../schema/mask-columns.ts';
import type { Database } from '../../warehouse/database.ts';

/** Which values of a stream are personal data, by the config and by the rules its table was made with. */
export interface HiddenValues {
  readonly columns: ReadonlySet<string>;
  /** A rule is newer than the data: quarantined records may hold the field unmasked. */
  readonly isPending: boolean;
}

/** Reads the rules that the tables of the published file were made with, by stream. */
export async function readMadeRules(
  database: Database,
): Promise<(stream: string) => Readonly<Record<string, ColumnRule>>> {
  const meta = await readMeta(database);
  return (stream) => {
    const made = JSON.parse(meta.get(`masks.${stream}`) ?? '{}') as Readonly<Record<string, string>>;
    return Object.fromEntries(
      Object.entries(made).map(([field, kind]) => [field, { kind: kind === 'hash' ? 'hash' : 'exclude' }]),
    );
  };
}

/** Finds what must not be shown. */
export function findHiddenValues(
  { columns: rules }: Pick<Stream, 'columns'>,
  made: Readonly<Record<string, ColumnRule>>,
  learned: readonly LearnedColumn[],
): HiddenValues {
  // A removed rule still applies to existing values.
  const hidden = [rules, made].flatMap((some) => {
    const { dropped, cleared } = findMaskedColumns(some, learned);
    return [...dropped, ...cleared.map(({ column }) => column)].map(({ name }) => name);
  });
  const isPending = Object.entries(rules).some(
    ([field, { kind }]) => kind !== 'type' && made[field]?.kind !== kind,
  );
  return { columns: new Set(hidden), isPending };
}
