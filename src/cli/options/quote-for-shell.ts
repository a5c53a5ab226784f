/** A word as a POSIX shell takes it: as it is where that is safe, else in quotes. */
export function quoteForShell(text: string): string {
  return /^[\w./:,=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
