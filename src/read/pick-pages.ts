import { chooseOffsets } from '../discover/choose-offsets.ts';
import type { Page } from '../model/page.ts';
import type { PageAsked, PageOrder } from '../orders/page-order.ts';

/**
 * Pages after the first one, spread over a stream to its end, at most `pages` with the first. Undefined if the order
 * cannot pick pages, or nothing says how many there are.
 */
export function pickPages(
  order: PageOrder,
  { total, records }: Page,
  { size, pages }: { readonly size: number; readonly pages: number },
): readonly PageAsked[] | undefined {
  if (total === undefined || order.pick(0, size) === undefined) return undefined;
  const offsets = records.length === 0 ? [] : chooseOffsets(total, size, pages);
  const picked = offsets.flatMap((offset) => order.pick(offset, size) ?? []);
  // Whole pages may hold more than one of the positions.
  return picked.filter(({ offset }, at) => offset > 0 && offset !== picked[at - 1]?.offset);
}
