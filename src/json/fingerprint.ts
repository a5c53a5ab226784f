import { createHash } from 'node:crypto';
import type { Page, PageRecord } from '../model/page.ts';

/** Fingerprint of one record by value: member order and white space do not count. */
export function hashOf(record: PageRecord | undefined): string | undefined {
  return record === undefined ? undefined : hashText(canonicalText(record.value));
}

/** Fingerprint of a page's records and declared total. */
export function hashPage(page: Page): string {
  return hashText(
    [String(page.total), ...page.records.map((record) => canonicalText(record.value))].join('\n'),
  );
}

/** Fingerprint of a page as it was received: cheaper than one by value, and never equal for different pages. */
export function hashPageText(page: Page): string {
  return hashText([String(page.total), ...page.records.map(({ text }) => text)].join('\n'));
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** One spelling of a value: members in the order of their names, no white space. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (
      typeof member !== 'object' ||
      member === null ||
      Array.isArray(member) ||
      Object.getPrototypeOf(member) === null
    )
      return member;
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
