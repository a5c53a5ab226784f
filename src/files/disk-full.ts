/** SQLITE_FULL, https://sqlite.org/rescode.html */
const SQLITE_FULL = 13;

/** Whether the operating system, or SQLite, found no space. */
export function isDiskFull(thrown: unknown): boolean {
  const { code, errcode } = thrown as { readonly code?: unknown; readonly errcode?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL;
}
