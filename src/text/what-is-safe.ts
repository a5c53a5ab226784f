/** What is safe when a request fails, of a command that has changed nothing. */
export const NO_TABLE_CHANGED = 'No table was changed.';

/** What a sync has of a stream, or of a slice of it. */
export interface Held {
  readonly slice: string;
  readonly wasCommitted: boolean;
}

/** The same hint for one stream of a sync, which may have committed others, or other slices of the same table. */
export function hintOfStream(hint: string, { slice, wasCommitted }: Held): string {
  if (!wasCommitted) return hint.replace(NO_TABLE_CHANGED, '').replace('  ', ' ').trim();
  const safe = slice === '' ? 'Its table is unchanged.' : 'The rows of this slice are unchanged.';
  return hint.replace(NO_TABLE_CHANGED, safe);
}
