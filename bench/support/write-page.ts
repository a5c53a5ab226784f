import { readFileSync, writeFileSync } from 'node:fs';

/** A page's text with a section put between the marks of a part. Throws where the page has no such marks. */
export function replaceSection(page: string, part: string, section: string): string {
  const [begin, end] = [`<!-- ${part} -->\n`, `<!-- end of ${part} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from)
    throw new Error(`the page has no marks for ${part}: ${begin.trim()} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n${section}\n\n${page.slice(to)}`;
}

/** Puts a section into a file. */
export function writeSection(file: string, part: string, section: string): void {
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), part, section));
}
