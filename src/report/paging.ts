import type { Paging } from '../model/report-data.ts';
import type { Page } from './document.ts';

export const asFile: Paging = { isLive: false };

/** Seconds until a page is loaded again while a run is in progress, and while there is none. */
const RELOAD = { atWork: 5, idle: 60 };

/** When a browser loads a page again; a file is not loaded again. */
export function chooseReload({ isLive }: Paging, isAtWork: boolean): Pick<Page, 'reloadAfter'> {
  return isLive ? { reloadAfter: isAtWork ? RELOAD.atWork : RELOAD.idle } : {};
}

/** What becomes of the ages that are shown. */
export function describeAgeing({ isLive }: Paging): string {
  return isLive ? 'this page is current at each load' : 'this file does not change';
}
