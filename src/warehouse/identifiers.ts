/** Quotes any text as a SQL identifier; the only way to put a name into SQL. */
export function quoteIdentifier(name: string): string {
  // The parser ends a statement at NUL, so a name with NUL cannot be quoted.
  return `"${name.replaceAll('\u0000', '').replaceAll('"', '""')}"`;
}

/**
 * Quotes text as a SQL string, for statements without bound values. The result is a literal, or an expression in
 * parentheses if the text contains NUL.
 */
export function quoteLiteral(text: string): string {
  const parts = text.split('\u0000').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || chr(0) || ')})`;
}

/** The same as a string of Postgres that means the same whatever the server's settings say about backslashes. */
export function quoteEscaped(text: string): string {
  return `E'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", "''")}'`;
}
