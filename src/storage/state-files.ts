import type { EntryKind } from '../model/account.ts';

/** The work file, its copies, those that were set aside, and the engine's logs of each. */
const WORK =
  /^work\.duckdb(?:\.(?:rebuild|restore|restored(?:\.restore)?|rewrite|lost|damaged-\d{8}T\d{6}Z(?:-\d+)?))?(?:\.wal(?:\.checkpoint|\.recovery)?)?$/;
const RECORDS =
  /^(?:(?:runs|refused|published|destination|source|progress|totals|notified|lock|(?:compare|forget)-(?:ducklake|iceberg|postgres|motherduck))\.json(?:\.tmp)?|runs\.json\.spare|lock\.sqlite(?:-journal)?)$/;
const STAGED =
  /^(?:stage|tmp|verify-\d+)\/(?:.+\/)?(?:(?:pages|records)\.ndjson|scan\.json|body|duckdb_temp_[\w.-]+)(?:\.tmp)?$/;
const ARCHIVED =
  /^archive\/[^/]+\/[^/]+\/[\w.-]+(?:\.json|\.json\.pending|\.zst)(?:\.part)?$|\/records\.part$/;
/** Of programs that read rows: what they were sent. */
const CHANGES = /^changes\.duckdb(?:\.wal(?:\.checkpoint|\.recovery)?)?$/;
const LEDGER = /^quota\/quota-[0-9a-f]+\.db(?:\.damaged-\d+)?(?:-journal)?$/;
/** What commands read if a config publishes only to servers, and the engine's extensions for that. */
const FOR_SERVERS =
  /^(?:readers\.duckdb(?:\.wal)?|\.readers\.duckdb\.[0-9a-f]{12}\.tmp(?:\.wal)?|extensions\/.+)$/;
const FOLDER = /^(?:stage|archive|tmp|quota|extensions|verify-\d+)(?:\/|$)/;

/**
 * Whether Sluice makes a path of this name in a state folder; other files belong to somebody else.
 *
 * @param path below the state folder, with `/`
 */
export function isStateFile(path: string, kind: EntryKind): boolean {
  if (kind === 'folder') return FOLDER.test(path);
  return (
    kind === 'file' &&
    [WORK, RECORDS, STAGED, ARCHIVED, CHANGES, LEDGER, FOR_SERVERS].some((names) => names.test(path))
  );
}
