import type { ReportData } from '../../model/report-data.ts';
import { toRecordedChange } from '../contracts/read-schema.ts';
import type { Database } from '../../warehouse/database.ts';
import { QUARANTINE_ID } from '../../warehouse/quarantine.ts';
import { toIso } from '../../model/sql.ts';

const MOST_CHANGES = 200;
const MOST_REASONS = 20;
const SAMPLE_LENGTH = 400;
const ID_DIGITS = 10;

/** The newest changes of columns. */
export async function readSchemaChanges(database: Database): Promise<ReportData['schemaChanges']> {
  const rows = await database.all(
    `SELECT * FROM _sluice.schema_changes ORDER BY changed_at DESC, stream, column_name LIMIT ${MOST_CHANGES}`,
  );
  return {
    total: await database.count('SELECT count(*) FROM _sluice.schema_changes'),
    newest: rows.map(toRecordedChange),
  };
}

/** Why records are in quarantine, the most frequent reasons first, each with its newest record. */
export async function readQuarantineReasons(
  database: Database,
  mayShow: (stream: string) => boolean,
): Promise<ReportData['quarantine']> {
  const rows = await database.all(
    `SELECT stream, slice, path, reason, count(*) AS records, max(quarantined_at) AS newest,
       arg_max(left(${QUARANTINE_ID}, ${ID_DIGITS}), quarantined_at) AS id,
       arg_max(left(record, ${SAMPLE_LENGTH + 1}), quarantined_at) AS sample
       FROM _sluice.quarantine GROUP BY ALL ORDER BY records DESC, stream, slice, path, reason LIMIT ${MOST_REASONS}`,
  );
  return {
    total: await database.count('SELECT count(*) FROM _sluice.quarantine'),
    reasons: rows.map((row) => {
      const stream = String(row['stream']);
      const sample = String(row['sample']);
      const isCut = sample.length > SAMPLE_LENGTH;
      const shown = isCut ? `${sample.slice(0, SAMPLE_LENGTH)}…` : sample;
      return {
        stream,
        slice: String(row['slice']),
        path: String(row['path']),
        reason: String(row['reason']),
        records: Number(row['records']),
        newestAt: toIso(row['newest']),
        sampleId: String(row['id']),
        sample: mayShow(stream) ? shown : undefined,
      };
    }),
  };
}
