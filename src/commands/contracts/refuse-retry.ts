import { StreamConfigError } from '../../model/errors.ts';
import { nameOf, type Stream } from '../../model/stream.ts';
import { isKeyFormatChanged } from '../../load/key-doubt.ts';
import type { ColumnChanges } from '../../run/scan.ts';

/** Older texts hold newly masked fields unmasked; the next scan reads them masked. */
export function refuseUnmasked(stream: Stream, { masked, rehashed }: ColumnChanges): void {
  if (masked === undefined && rehashed.length === 0) return;
  const why =
    masked === undefined
      ? 'fields are now hashed with a different key than in its last sync, and its quarantined records hold the old hashes'
      : 'fields are newly excluded or hashed since its last sync, and its quarantined records hold them unmasked';
  throw new StreamConfigError(`${nameOf(stream)}: ${why}`, {
    code: 'config_invalid',
    hint: `Run \`sluice sync --streams ${stream.name}\`: it deletes them, and quarantines them masked if they are still in the API.`,
    context: { stream: stream.name },
  });
}

/** If the format of the key is not known, a record would be added next to its own row. */
export function refuseChangedKeyFormat(
  stream: Stream,
  key: readonly string[] | undefined,
  changes: ColumnChanges,
): void {
  if (!isKeyFormatChanged(key, changes)) return;
  throw new StreamConfigError(
    `${nameOf(stream)}: config gives a column of its key (${key?.join(', ') ?? ''}) a different type than in its last sync`,
    {
      code: 'config_invalid',
      hint: `Nothing was changed. Run \`sluice sync --streams ${stream.name}\` first: it matches the existing rows.`,
      context: { stream: stream.name },
    },
  );
}
