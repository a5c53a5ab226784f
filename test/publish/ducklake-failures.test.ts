import { expect, it } from 'vitest';
import type { DuckLakeDestination } from '../../src/model/destination.ts';
import {
  describeDuckLakeFailure,
  isDuckLakeConflict,
} from '../../src/publish/lakehouse/ducklake/describe-ducklake-failure.ts';

const lake: DuckLakeDestination = {
  kind: 'ducklake',
  path: 'db.example/warehouse#analytics',
  catalog: { kind: 'postgres', url: 'postgres://db.example/warehouse' },
  data: 's3://bucket/sluice',
  schema: 'analytics',
  secrets: [],
  extensions: { folder: '/state/extensions', installs: false },
} as unknown as DuckLakeDestination;

const WHOLE = 'what readers see is whole';

it.each<[said: string, what: string, setting: string]>([
  [
    "IO Error: Could not connect to server error for HTTP GET to 'http://store.example/bucket/?list-type=2'\n\nLINE 1: SELECT count(*) FROM glob('s3://bucket/sluice-probe*')\n   ^",
    'the object store cannot be reached',
    'destination.s3.endpoint',
  ],
  [
    "IO Error: SSL peer certificate or SSH remote key was not OK error for HTTP HEAD to 'https://store.example/b'",
    'the object store cannot be reached',
    'destination.s3.endpoint',
  ],
  [
    'IO Error: Unable to connect to Postgres at "db.example": could not connect to server: Connection refused',
    'the server of the catalog cannot be reached',
    'destination.ducklake.catalog',
  ],
  [
    'IO Error: Unable to connect to Postgres at "db.example": SSL error: certificate verify failed',
    'the connection to the server of the catalog cannot be encrypted as asked',
    'PGSSLMODE',
  ],
  [
    'IO Error: Cannot open file "/lake/analytics/items/year=2026/month=10/ducklake-0.parquet": No such file or directory',
    'a file with rows of the lake is missing',
    'DROP SCHEMA "_sluice_analytics" CASCADE',
  ],
  [
    'HTTP Error: Unable to connect to URL "s3://bucket/analytics/items/ducklake-0.parquet": HTTP 404 Not Found, s3://bucket/analytics/items/ducklake-0.parquet',
    'a file with rows of the lake is missing',
    'without a request',
  ],
  ...[
    'Invalid Error: Variable-length int over 10 bytes.',
    'Invalid Error: TProtocolException: Invalid data',
    "Invalid Input Error: No magic bytes found at end of file '/lake/main/items/ducklake-0.parquet'",
    "Invalid Input Error: Invalid footer length provided for file '/lake/main/items/ducklake-0.parquet'",
    'Invalid Input Error: Failed to read file "/lake/main/items/ducklake-0.parquet": Snappy decompression failure',
    'IO Error: Could not read enough bytes from file "/lake/ducklake-0.parquet": attempted to read 8 bytes from location 4',
  ].map((said): [string, string, string] => [
    said,
    'a file with rows of the lake is damaged',
    'drop the tables of your streams',
  ]),
])('says what failed, and where to fix it: %s', (said, what, setting) => {
  const { message, hint } = describeDuckLakeFailure(lake, new Error(said));
  expect(message).toContain(`: ${what}: `);
  expect(message).not.toContain('LINE 1');
  expect(hint).toContain(setting);
  expect(hint.includes(WHOLE)).toBe(!/missing|damaged/.test(what));
});

it('does not show where in its code the engine failed', () => {
  const said =
    'INTERNAL Error: Attempted to access index 0\n\nStack Trace:\n\n./ducklake.duckdb_extension(+0xd7f00b)';
  expect(describeDuckLakeFailure(lake, new Error(said)).message).toMatch(/Attempted to access index 0$/);
});

it.each([
  [
    'TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction. Exceeded the maximum retry count of 0 set by the ducklake_max_retry_count setting: Failed to execute query "COMMIT": database or disk is full',
    'the disk is full',
  ],
  ['Failed to execute query "ROLLBACK": database or disk is full', 'the disk is full'],
  [
    'IO Error: Could not write file "/lake/main/items/ducklake-0.parquet": No space left on device',
    'the disk is full',
  ],
  ['Failed to execute query "COMMIT": disk I/O error', 'the disk failed'],
  ['IO Error: Could not write file "/lake/main/items/ducklake-0.parquet": File too large', 'the disk failed'],
])('takes no full disk for another writer or a lost server: %s', (said, what) => {
  const { message, hint, exitCode } = describeDuckLakeFailure(lake, new Error(said));
  expect(message).toContain(`: ${what}: `);
  expect(hint).toMatch(/space.*run again: publishing needs no request/);
  expect(exitCode).toBe(6);
  expect(isDuckLakeConflict(new Error(said))).toBe(false);
});

it('tells a download of an extension that failed from a file that does not exist', () => {
  const installing = { ...lake, extensions: { folder: '/state/extensions', installs: true } };
  const at = 'from URL "http://extensions.duckdb.org/v1.5.5/linux_amd64/ducklake.duckdb_extension.gz"';
  const describe = (said: string, of = installing) =>
    describeDuckLakeFailure(of, new Error(`IO Error: Failed to download extension "ducklake" ${at}${said}`));
  const away = describe(' (ERROR Could not establish connection)');
  expect(away).toMatchObject({
    exitCode: 6,
    message: "the engine's extension ducklake could not be downloaded",
  });
  expect(away.hint).toMatch(
    /^Run again once this machine reaches the internet\. .*engine\.extensionDirectory/,
  );
  const missing = { exitCode: 2, message: "the engine's extension ducklake is missing" };
  expect(describe(' (HTTP 404)')).toMatchObject(missing);
  expect(describe('', lake)).toMatchObject(missing);
});

it('takes no name that the catalog refuses for another writer', () => {
  const said = 'ERROR: column name "xmin" conflicts with a system column name';
  expect(describeDuckLakeFailure(lake, new Error(said)).message).not.toContain('at the same time');
  const conflict = 'TransactionContext Error: Transaction conflict on table items';
  expect(describeDuckLakeFailure(lake, new Error(conflict)).message).toContain('at the same time');
});
