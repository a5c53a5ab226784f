/** A row of the API. */
export type MadeRow = Readonly<Record<string, string | number>>;

/** How many rows each path has. */
export interface RowCounts {
  readonly mentions: number;
  readonly prompts: number;
  readonly categories: number;
  readonly products: number;
}

const DAY_MS = 86_400_000;
const DAYS = 20;

/** The path of each stream, and its count. */
export const pathCounts: Readonly<Record<string, keyof RowCounts>> = {
  'visibility/mentions': 'mentions',
  'prompts/analytics': 'prompts',
  'commerce/category-products': 'categories',
  'commerce/top-products': 'products',
};

/**
 * All rows of a path by day, the same each time. Each carries its owner, so that a row in a wrong account is seen. A later
 * version has a day more, and the last day before it is restated.
 */
export function makeRows(
  path: string,
  owner: string,
  { count, version, lastDay }: { readonly count: number; readonly version: number; readonly lastDay: string },
): readonly MadeRow[] {
  const all = Math.round(count * (1 + (version - 1) / DAYS));
  return Array.from({ length: all }, (_, at) => {
    const day =
      Math.min(DAYS - 1, Math.floor((at * DAYS) / count)) +
      Math.max(0, Math.ceil((at + 1 - count) / Math.max(1, count / DAYS)));
    const date = new Date(Date.parse(lastDay) - (DAYS - 1 - day) * DAY_MS).toISOString().slice(0, 10);
    const isRestated = day >= DAYS - 2;
    return {
      id: `${path}-${at}`,
      date,
      owner,
      amount: at * 7 + (isRestated ? version : 0),
      score: at / 8,
      note: `row ${at} of ${owner}${at % 5 === 0 ? ' with "quotes", ünïcode and\nlines' : ''}`,
    };
  });
}
