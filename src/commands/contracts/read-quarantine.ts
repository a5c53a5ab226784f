import { selectStreams } from '../../config/select-streams.ts';
import { ConfigError } from '../../model/errors.ts';
import type {
  QuarantinedRecord,
  QuarantinedRecordDetail,
  QuarantineList,
  QuarantineReason,
} from '../../model/quarantine-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type SqlRow, toIso } from '../../model/sql.ts';
import { QUARANTINE_ID } from '../../warehouse/quarantine.ts';
import { withPublished } from '../../warehouse/query-published.ts';

// Short enough for people, long enough not to be mistaken for a number.
const ID_DIGITS = 10;

export interface ListOptions {
  readonly streams?: readonly string[];
  readonly limit: number;
}

/** Lists the quarantine from the published file, so that a run that holds the work file is not disturbed. */
export async function listQuarantine(
  settings: OfflineSettings,
  { streams, limit }: ListOptions,
): Promise<QuarantineList> {
  const names = streams && selectStreams(settings, streams).map(({ name }) => name);
  return withPublished(settings, async (database) => {
    const where =
      names === undefined ? 'true' : `stream IN (${names.map((_, at) => `$${at + 1}`).join(', ')})`;
    const reasons = await database.all(
      `SELECT stream, slice, path, reason, count(*) AS records FROM _sluice.quarantine WHERE ${where}
         GROUP BY ALL ORDER BY records DESC, stream, slice, path, reason LIMIT ${MOST_REASONS}`,
      names,
    );
    const records = await database.all(
      `SELECT * EXCLUDE (record), ${QUARANTINE_ID} AS id FROM _sluice.quarantine WHERE ${where}
         ORDER BY quarantined_at DESC, stream, slice, page_offset, row_index LIMIT ${Math.trunc(limit)}`,
      names,
    );
    return {
      total: await database.count(`SELECT count(*) FROM _sluice.quarantine WHERE ${where}`, names),
      reasons: reasons.map(toReason),
      records: records.map(toRecord),
    };
  });
}

const MOST_REASONS = 50;

/** One complete record by a unique prefix of its id; throws a ConfigError if none or several match. */
export async function showQuarantined(
  settings: OfflineSettings,
  id: string,
): Promise<QuarantinedRecordDetail> {
  const prefix = id.toLowerCase();
  if (!/^[0-9a-f]{4,64}$/.test(prefix)) {
    throw new ConfigError(`"${id}" is not a valid id of a quarantined record`, {
      code: 'usage_invalid',
      hint: '`sluice quarantine list` shows the ids; four digits or more of one are enough.',
    });
  }
  return withPublished(settings, async (database) => {
    const found = await database.all(
      `SELECT ${QUARANTINE_ID} AS id, count(*) AS copies, max_by(q, quarantined_at) AS newest FROM _sluice.quarantine q
         WHERE starts_with(${QUARANTINE_ID}, $1) GROUP BY 1 ORDER BY 1 LIMIT 11`,
      [prefix],
    );
    const [row] = found;
    if (row === undefined || found.length > 1) throw describeNoMatch(id, found);
    const newest = row['newest'] as SqlRow;
    const hash = String(row['id']);
    const record = toRecord({ ...newest, id: hash });
    return { ...record, hash, copies: Number(row['copies']), record: String(newest['record']) };
  });
}

function describeNoMatch(id: string, found: readonly SqlRow[]): ConfigError {
  if (found.length === 0) {
    return new ConfigError(`no record in quarantine has an id that begins with ${id}`, {
      code: 'usage_invalid',
      hint: '`sluice quarantine list` shows the ids. A record that has been loaded since is no longer in quarantine.',
    });
  }
  const ids = found.slice(0, 10).map((row) => String(row['id']).slice(0, ID_DIGITS + 6));
  return new ConfigError(`several records in quarantine have an id that begins with ${id}`, {
    code: 'usage_invalid',
    hint: `Add digits: ${ids.join(', ')}${found.length > 10 ? ', …' : ''}.`,
  });
}

function toReason(row: SqlRow): QuarantineReason {
  return {
    stream: String(row['stream']),
    slice: String(row['slice']),
    path: String(row['path']),
    reason: String(row['reason']),
    records: Number(row['records']),
  };
}

function toRecord(row: SqlRow): QuarantinedRecord {
  return {
    id: String(row['id']).slice(0, ID_DIGITS),
    stream: String(row['stream']),
    slice: String(row['slice']),
    runId: String(row['run_id']),
    pageOffset: Number(row['page_offset']),
    rowIndex: Number(row['row_index']),
    reason: String(row['reason']),
    path: String(row['path']),
    quarantinedAt: toIso(row['quarantined_at']),
    absentSince: typeof row['absent_since'] === 'string' ? row['absent_since'] : undefined,
  };
}
