import type { MaintainedDestination, MaintainReport } from '../model/reports.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

const NOTHING =
  'Nothing to maintain: the config has no DuckLake, and each sync keeps DuckDB files and Parquet lakes small';

/** What maintenance did, for people. */
export function renderMaintenance({ destinations }: MaintainReport, columns: number | undefined): string {
  if (destinations.length === 0) return wrapText(`${NOTHING}.`, columns);
  return destinations.map((one) => wrapText(`${describe(one)}.`, columns)).join('\n');
}

/** One sentence about it. */
export function summarizeMaintenance({ destinations }: MaintainReport): string {
  return destinations.length === 0 ? NOTHING : destinations.map(describe).join('; ');
}

function describe({ title, destination, outcome, bytesBefore, bytesAfter }: MaintainedDestination): string {
  const name = `${title} ${toSafeLine(destination)}`;
  switch (outcome) {
    case 'maintained': {
      const isMeasured = bytesBefore !== undefined && bytesAfter !== undefined;
      const size = isMeasured
        ? `; data files: ${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} now`
        : '';
      return `${name}: maintained${size}`;
    }
    case 'nothing is published':
      return `${name}: nothing is published there yet`;
    case 'left to another engine':
      return `${name}: DuckDB cannot compact Iceberg. Use your engine, e.g. Spark; docs/lakehouse.md has the statements`;
    case 'not needed':
      return `${name}: nothing to do: its own autovacuum keeps the tables small`;
  }
}
