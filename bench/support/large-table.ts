import { measure, type PageServer, serve } from './children.ts';
import type { Build } from './build.ts';

/** Rows a first sync reads of a large table, which is then filled up; see `seed-table.ts`. */
export const SEED_ROWS = 1_000;

/**
 * Makes a project in `folder` whose table has so many rows, and serves what its next days change.
 *
 * @param stream what the config says of the stream
 */
export async function makeLargeTable(
  { script }: Build,
  folder: string,
  size: number,
  stream: object,
): Promise<PageServer> {
  const pages = await serve(script('serve-days'), [String(size)]);
  try {
    const there = Math.min(SEED_ROWS, size);
    await pages.tell({ mode: 'seed', version: 0 });
    const first = await measure(script('sync-once'), [
      pages.origin,
      folder,
      '100',
      JSON.stringify({ stream }),
    ]);
    if (first.rows !== there) throw new Error(`the first sync read ${first.rows} rows, not ${there}`);
    if (size === there) return pages;
    const { rows } = await measure(script('seed-table'), [folder, String(size), String(there)]);
    if (rows !== size) throw new Error(`the table has ${rows} rows, not ${size}`);
    return pages;
  } catch (error) {
    pages.stop();
    throw error;
  }
}
