// What a keyed table should hold, worked out from the records alone: an independent reference in plain JavaScript,
// by the documented rules and with nothing of the product. Values are compared as JSON would write them.

export type ReferenceRow = Readonly<Record<string, unknown>>;

export interface Reference {
  /** A full sync of these records. */
  sync(records: readonly unknown[]): void;
  /** Live rows in an order of their values. */
  rows(): readonly ReferenceRow[];
  /** Keys of rows that the source no longer has. */
  gone(): readonly string[];
}

/** A table keyed by one field, whose rows that left the source are kept, marked or removed. */
export function createReference(key: string, deletes: 'keep' | 'soft' | 'hard'): Reference {
  const rows = new Map<string, ReferenceRow>();
  const gone = new Set<string>();
  return {
    sync(records) {
      const seen = new Set<string>();
      for (const record of records) {
        const row = flatten(record as object, '');
        const id = String(row[key]);
        seen.add(id);
        gone.delete(id);
        rows.set(id, row);
      }
      for (const id of rows.keys()) if (!seen.has(id)) gone.add(id);
      if (deletes === 'hard') for (const id of gone) rows.delete(id);
      if (deletes === 'hard') gone.clear();
    },
    rows: () =>
      [...rows]
        .filter(([id]) => deletes !== 'soft' || !gone.has(id))
        .map(([, row]) => row)
        .toSorted(byText),
    gone: () => [...gone].toSorted(),
  };
}

function flatten(record: object, prefix: string): ReferenceRow {
  const row: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(record) as [string, unknown][]) {
    const name = prefix + field.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
    // A column that is null says as much as a field that is missing.
    if (value === null || value === undefined) continue;
    if (typeof value === 'object' && !Array.isArray(value)) Object.assign(row, flatten(value, `${name}__`));
    else row[name] = value;
  }
  return Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function byText(a: ReferenceRow, b: ReferenceRow): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
