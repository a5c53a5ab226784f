import type { KeptPath } from '../accounts/find-leftovers.ts';
import type { RemovalPlan } from '../accounts/plan-removal.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatCountOf } from '../text/format-count.ts';
import { toSafeLine } from './safe-text.ts';

/** What stays is a list to look through; a folder of somebody else may have thousands. */
const MOST_KEPT = 20;

/** What an account's removal deletes and leaves: a line for each path, with its files and their size. */
export function renderRemoval({ places, kept }: Pick<RemovalPlan, 'places' | 'kept'>): string {
  const deleted = places.map(
    ({ path, own: { files, bytes } }) =>
      `  ${toSafeLine(path)}  ${formatCountOf(files.length, 'file')}, ${formatBytes(bytes)}`,
  );
  return [...deleted, ...(kept.length === 0 ? [] : ['Left alone:', renderKept(kept)])].join('\n');
}

/** Paths that stay, and why. */
export function renderKept(kept: readonly KeptPath[]): string {
  const more = kept.length - MOST_KEPT;
  const lines = kept.slice(0, MOST_KEPT).map(({ path, why }) => `  ${toSafeLine(path)}: ${toSafeLine(why)}`);
  return [...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
}
