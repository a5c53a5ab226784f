import type { Page } from '../model/page.ts';
import type { PageAsked } from './page-order.ts';

/** Why pages whose places shift with the data prove nothing about the rows between two of them. */
export const PAGES_APART =
  'its pages do not overlap: rows that moved from one to another while they were read cannot be seen';

/** The page that another one names as the next. */
export function followNext({ offset, records, next }: Page): PageAsked | undefined {
  return next === undefined ? undefined : { offset: offset + records.length, next };
}
