import { existsSync } from 'node:fs';
import type { MetricFacts } from '../../metrics/metric-facts.ts';

/** Whether state and published file could be read after the last run, and the file is still there. */
export function isReadable({ status }: Pick<MetricFacts, 'status'>): boolean {
  return status !== undefined && (status.published === undefined || existsSync(status.duckdbPath));
}
