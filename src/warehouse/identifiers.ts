/** Quotes any text as a SQL identifier; the only way a name reaches SQL. */
export function quoteIdentifier(name: string): string {
  // The parser ends a statement at NUL, so no quoting could carry one.
  return `"${name.replaceAll('\u0000', '').replaceAll('"', '""')}"`;
}

/**
 * Quotes text as a SQL string, for the statements that take no bound values: a literal, or for text with a NUL, which
 * no literal can carry, an expression in parentheses.
 */
export function quoteLiteral(text: string): string {
  const parts = text.split('\u0000').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || chr(0) || ')})`;
}
