import type { Clock } from '../../model/clock.ts';
import { type ClockReading, ServerClock } from '../quota/server-clock.ts';
import type { Sql } from './sql.ts';

/** The shortest round trip of so many tells the most. */
const READINGS = 3;

/** How far the database's clock is ahead of this machine's, in whole ms; negative where it is behind. */
export async function measureClockLead(sql: Sql, clock: Clock): Promise<number> {
  const readings: ClockReading[] = [];
  while (readings.length < READINGS) {
    const askedMs = clock.now();
    const [row] = await sql.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
    readings.push({ askedMs, serverMs: Number(row?.['now']), answeredMs: clock.now() });
  }
  return Math.round(new ServerClock(readings).read(0));
}
