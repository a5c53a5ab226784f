import { hash } from 'node:crypto';
import type { Page, PageRecord } from '../model/page.ts';

// A joint's record is compared several times: when its page comes, and with each page that should fit to it.
const known = new WeakMap<PageRecord, string>();

/** Fingerprint of one record by value: member order and white space do not count. */
export function hashOf(record: PageRecord | undefined): string | undefined {
  if (record === undefined) return undefined;
  const found = known.get(record) ?? hashText(canonicalText(record.value));
  known.set(record, found);
  return found;
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
  return hash('sha256', text, 'base64url').slice(0, 22);
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
