import { insertRows } from './insert-rows.ts';
import type { SqlRow, SqlSession } from '../src/model/sql.ts';
import type { Checkpoint, CountedRows, LearnedColumn, ScanHead } from '../src/model/stream.ts';
import type { ColumnType, JsonType } from '../src/model/schema.ts';
import { companionPath, companionSource } from '../src/schema/field-paths.ts';

/** All checkpoints, ordered by stream and slice. */
export async function readCheckpoints(session: SqlSession): Promise<readonly Checkpoint[]> {
  return (await session.all('SELECT * FROM _sluice.checkpoints ORDER BY stream, slice')).map(toCheckpoint);
}

/** The checkpoint of one stream, or undefined before its first commit. */
export async function readCheckpoint(
  session: SqlSession,
  stream: string,
  slice: string,
): Promise<Checkpoint | undefined> {
  const [row] = await session.all('SELECT * FROM _sluice.checkpoints WHERE stream = $1 AND slice = $2', [
    stream,
    slice,
  ]);
  return row && toCheckpoint(row);
}

/** Replaces a checkpoint; call in the transaction that wrote its rows (invariant 1). */
export async function writeCheckpoint(session: SqlSession, checkpoint: Checkpoint): Promise<void> {
  await session.run('DELETE FROM _sluice.checkpoints WHERE stream = $1 AND slice = $2', [
    checkpoint.stream,
    checkpoint.slice,
  ]);
  await session.run(
    `INSERT INTO _sluice.checkpoints VALUES ($1, $2, $3, $4, $5, $6, $7::JSON, $8, $9::JSON, $10::TIMESTAMPTZ,
       $11::TIMESTAMPTZ, $12, $13, $14, $15::JSON, $16, $17, $18::TIMESTAMPTZ, $19, $20::JSON)`,
    [
      checkpoint.stream,
      checkpoint.slice,
      checkpoint.fingerprint,
      checkpoint.cursorField ?? null,
      checkpoint.cursorState ?? null,
      checkpoint.watermark ?? null,
      checkpoint.keyFields === undefined ? null : JSON.stringify(checkpoint.keyFields),
      checkpoint.keyOrigin ?? null,
      JSON.stringify(checkpoint.keyProvedOn),
      checkpoint.lastFullScanAt ?? null,
      checkpoint.lastVerifiedAt ?? null,
      checkpoint.lastVerdict ?? null,
      checkpoint.rowsDeclared ?? null,
      checkpoint.runId,
      checkpoint.head === undefined ? null : JSON.stringify(checkpoint.head),
      checkpoint.rules ?? null,
      checkpoint.fullRefreshDue ?? null,
      checkpoint.wholeAt ?? null,
      checkpoint.provedFrom ?? null,
      checkpoint.counts === undefined ? null : JSON.stringify(checkpoint.counts),
    ],
  );
}

/** Checkpoints with a time after this one (ISO); cheap if there are none. */
export async function readCheckpointsAfter(
  session: SqlSession,
  time: string,
): Promise<readonly Checkpoint[]> {
  const rows = await session.all(
    `SELECT * FROM _sluice.checkpoints WHERE
       greatest(last_verified_at, last_full_scan_at, whole_at, TRY_CAST(counts->>'$.broughtForwardAt' AS TIMESTAMPTZ))
         > $1::TIMESTAMPTZ`,
    [time],
  );
  return rows.map(toCheckpoint);
}

/** The learned columns of a stream, in table order. */
export async function readContract(session: SqlSession, stream: string): Promise<readonly LearnedColumn[]> {
  const rows = await session.all(
    // Published files of older versions have fewer columns.
    'SELECT * FROM _sluice.contracts WHERE stream = $1 ORDER BY ordinal',
    [stream],
  );
  return rows.map((row) => ({
    path: toPath((JSON.parse(String(row['path'])) as string[]).map(decodeField), row['companion'] === true),
    name: String(row['column_name']),
    type: String(row['type']) as ColumnType,
    ...(typeof row['absent_since'] === 'string' && { absentSince: row['absent_since'] }),
    ...(typeof row['json_types'] === 'string' && { jsonTypes: JSON.parse(row['json_types']) as JsonType[] }),
  }));
}

/** Replaces a stream's learned columns; call in the transaction that changed its table. */
export async function writeContract(
  session: SqlSession,
  stream: string,
  columns: readonly LearnedColumn[],
  runId: string,
): Promise<void> {
  await session.run('DELETE FROM _sluice.contracts WHERE stream = $1', [stream]);
  await insertRows(
    session,
    '_sluice.contracts',
    ['VARCHAR', 'JSON', 'VARCHAR', 'VARCHAR', 'INTEGER', 'VARCHAR', 'VARCHAR', 'BOOLEAN', 'JSON'],
    columns.map(({ path, name, type, absentSince, jsonTypes }, ordinal) => {
      const source = companionSource(path);
      return [
        stream,
        JSON.stringify((source ?? path).map(encodeField)),
        name,
        type,
        ordinal,
        runId,
        absentSince ?? null,
        source !== undefined,
        jsonTypes === undefined ? null : JSON.stringify(jsonTypes),
      ];
    }),
  );
}

// Files of older versions lack this column and mark companions in the path itself.
function toPath(path: readonly string[], isCompanion: boolean): readonly string[] {
  return isCompanion ? companionPath(path) : path;
}

// The engine rejects lone surrogates, which JSON allows in field names. They are encoded as the noncharacter U+FDD0
// and four hex digits, as is U+FDD0 itself.
function encodeField(field: string): string {
  return field.replace(/\p{Surrogate}|\ufdd0/gu, (unit) => `\ufdd0${unit.charCodeAt(0).toString(16)}`);
}

function decodeField(field: string): string {
  return field.replace(/\ufdd0([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

function toCheckpoint(row: SqlRow): Checkpoint {
  return {
    stream: String(row['stream']),
    slice: String(row['slice']),
    fingerprint: String(row['fingerprint']),
    cursorField: optionalText(row['cursor_field']),
    cursorState: optionalText(row['cursor_state']) as Checkpoint['cursorState'],
    watermark: optionalText(row['watermark']),
    keyFields: optionalList(row['key_fields']),
    keyOrigin: optionalText(row['key_origin']) as Checkpoint['keyOrigin'],
    keyProvedOn: optionalList(row['key_proved_on']) ?? [],
    lastFullScanAt: optionalTime(row['last_full_scan_at']),
    lastVerifiedAt: optionalTime(row['last_verified_at']),
    lastVerdict: optionalText(row['last_verdict']),
    rowsDeclared: row['rows_declared'] === null ? undefined : Number(row['rows_declared']),
    head: typeof row['head'] === 'string' ? (JSON.parse(row['head']) as ScanHead) : undefined,
    rules: optionalText(row['rules']),
    fullRefreshDue: optionalText(row['full_refresh_due']),
    wholeAt: optionalTime(row['whole_at']),
    provedFrom: optionalText(row['proved_from']),
    counts: typeof row['counts'] === 'string' ? (JSON.parse(row['counts']) as CountedRows) : undefined,
    runId: String(row['run_id']),
  };
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function optionalList(value: unknown): readonly string[] | undefined {
  return typeof value === 'string' ? (JSON.parse(value) as string[]) : undefined;
}

function optionalTime(value: unknown): string | undefined {
  return value instanceof Date ? value.toISOString() : undefined;
}
