import type { Page } from '../model/page.ts';
import type { PageAsked } from './page-order.ts';

/** The page that another one names as the next. */
export function followNext({ offset, records, next }: Page): PageAsked | undefined {
  return next === undefined ? undefined : { offset: offset + records.length, next };
}
