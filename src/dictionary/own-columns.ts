/** What the columns say that Sluice adds to tables. */
const OWN_COLUMNS: Readonly<Record<string, string>> = {
  _run_id: 'The run that last changed the row, as in _sluice.runs',
  _synced_at: 'When that run changed the row. It does not move while the row stays the same',
  _deleted_at: 'When the row was found to be missing in the API; null for a live row',
  _slice: 'The slice of the stream that the row belongs to',
  _valid_from: 'When this version of the row was first seen',
  _valid_to: 'When the next version was seen, or the row was deleted; null for the current version',
  account: 'The account of the config that the row belongs to',
};

/** What a column of Sluice's own holds; undefined for others. */
export function describeOwnColumn(name: string, holds: 'rows' | 'versions' = 'rows'): string | undefined {
  if (holds === 'versions' && name === '_run_id') return 'The run that saw this version, as in _sluice.runs';
  return Object.hasOwn(OWN_COLUMNS, name) ? OWN_COLUMNS[name] : undefined;
}
