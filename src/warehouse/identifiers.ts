/** Quotes any text as a SQL identifier; the only way a name reaches SQL. */
export function quoteIdentifier(name: string): string {
  // The parser ends a statement at NUL, so no quoting could carry one.
  return `"${name.replaceAll('\u0000', '').replaceAll('"', '""')}"`;
}

/** Quotes text as a SQL string literal, for the statements that take no bound values. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll('\u0000', '').replaceAll("'", "''")}'`;
}
