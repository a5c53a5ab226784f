import { readFileSync, writeFileSync } from 'node:fs';

/** What stands between the marks of a part. Throws where the page has no such marks. */
export function readSection(page: string, part: string): string {
  const { from, to } = findSection(page, part);
  return page.slice(from, to);
}

/** A page's text with a section put between the marks of a part. Throws where the page has no such marks. */
export function replaceSection(page: string, part: string, section: string): string {
  const { from, to } = findSection(page, part);
  return `${page.slice(0, from)}\n${section}\n\n${page.slice(to)}`;
}

function findSection(page: string, part: string): { readonly from: number; readonly to: number } {
  const [begin, end] = [`<!-- ${part} -->\n`, `<!-- end of ${part} -->`];
  const at = page.indexOf(begin);
  const to = page.indexOf(end);
  if (at === -1 || to < at) throw new Error(`the page has no marks for ${part}: ${begin.trim()} and ${end}`);
  return { from: at + begin.length, to };
}

/** Puts a section into a file. */
export function writeSection(file: string, part: string, section: string): void {
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), part, section));
}
