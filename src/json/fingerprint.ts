import { hash } from 'node:crypto';
import type { Page, PageRecord } from '../model/page.ts';

// A joint's record is compared several times: when its page comes, and with each page that should fit to it.
const known = new WeakMap<PageRecord, string>();
// Two pages have the record of a joint, mostly in the same spelling: its value is made and sorted once.
const recent = new Map<string, string>();
const MOST_RECENT = 64;
const LONGEST_RECENT = 8192;

/** Fingerprint of one record by value: member order and white space do not count. */
export function hashOf(record: PageRecord | undefined): string | undefined {
  if (record === undefined) return undefined;
  const found = known.get(record) ?? hashSpelling(record);
  known.set(record, found);
  return found;
}

function hashSpelling(record: PageRecord): string {
  const { text } = record;
  const found = recent.get(text) ?? hashText(canonicalText(record.value));
  // The text of a record that is no longer bytes may be a part of its page's, and keep the whole of it.
  const isOwnText = record.bytes !== undefined && text.length <= LONGEST_RECENT;
  // Each spelling is asked for twice: known once, it need not be kept any longer.
  if (!recent.delete(text) && isOwnText) recent.set(text, found);
  const [oldest] = recent.size > MOST_RECENT ? recent.keys() : [];
  if (oldest !== undefined) recent.delete(oldest);
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
  const { total, records } = page;
  const first = records[0]?.bytes;
  const last = records.at(-1)?.bytes;
  // Records that still are bytes lie side by side in one buffer.
  const isWhole = first !== undefined && records.every(({ bytes }) => bytes?.source === first.source);
  const received =
    isWhole && last !== undefined
      ? first.source.subarray(first.start, last.end)
      : records.map(({ text }) => text).join(',');
  return hashText(`${total} ${hash('sha256', received, 'base64url')}`);
}

function hashText(text: string): string {
  // Copied: a part of a string keeps the whole of it, and a long scan keeps these by the ten thousand.
  return Buffer.from(hash('sha256', text, 'base64url').slice(0, 22)).toString('latin1');
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
