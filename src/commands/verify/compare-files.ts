import type { CheckItem } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Checkpoint } from '../../model/stream.ts';
import { workFile } from '../../storage/state-folder.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { TableFingerprint } from '../../warehouse/fingerprint-tables.ts';
import { REPUBLISH_FIX } from './verify-lake.ts';

/** What one file holds, read once. */
export interface FileFacts {
  readonly generation: string | undefined;
  readonly checkpoints: readonly Checkpoint[];
  readonly tables: ReadonlyMap<string, TableFingerprint>;
}

/** What was published, and what it holds. */
interface PublishedFacts {
  readonly name: 'published file' | 'lake';
  readonly path: string;
  readonly facts: FileFacts;
}

/** Whether what was published holds the same commit as another file, with the same rows. */
export function compareFiles(
  { stateDir, duckdbPath }: OfflineSettings,
  { name: what, path, facts: published }: PublishedFacts,
  other: FileFacts,
  otherName: 'work file' | 'published file' = 'work file',
): CheckItem {
  if (other.generation !== published.generation) {
    const detail = `the ${what} does not hold the last commit`;
    return { name: what, status: 'failed', detail, fix: REPUBLISH_FIX };
  }
  const names = new Set([...other.tables.keys(), ...published.tables.keys()]);
  // A lake's own entry is in it, which says where its rows are.
  if (what === 'lake') names.delete('_sluice.meta');
  const name = what === 'lake' ? 'lake' : 'both files';
  const different = [...names].filter((name) => {
    const [ours, theirs] = [other.tables.get(name), published.tables.get(name)];
    return ours?.columns !== theirs?.columns || ours?.rows !== theirs?.rows || ours?.sum !== theirs?.sum;
  });
  if (different.length === 0) {
    const rows = [...names].reduce((sum, name) => sum + (other.tables.get(name)?.rows ?? 0), 0);
    const as = what === 'lake' ? ` as the ${otherName}` : '';
    const but = what === 'lake' ? ' (_sluice.meta says in a lake where its rows are, too)' : '';
    const held = `${formatCountOf(names.size, 'table')} and ${formatCountOf(rows, 'row')}`;
    const detail = `the same commit${as}, ${held}, equal by value${but}`;
    return { name, status: 'ok', detail, fix: undefined };
  }
  const otherPath = otherName === 'work file' ? workFile(stateDir) : duckdbPath;
  const detail = `${different.join(', ')} differ from ${otherPath}: another program wrote into one of them`;
  const fix = `If it was ${path}, move that aside and run sluice sync: it is published again.`;
  return { name, status: 'failed', detail, fix };
}
