/** What a paginated endpoint answers, as documented, of the rows that a query matches; all of them without a limit. */
export function answerPage<T>(rows: readonly T[], query: URLSearchParams, total = rows.length) {
  const offset = Number(query.get('offset') ?? 0);
  const limit = Number(query.get('limit') ?? Math.max(1, rows.length));
  return {
    data: rows.slice(offset, offset + limit),
    pagination: { total, limit, offset, hasMore: offset + limit < rows.length },
  };
}
