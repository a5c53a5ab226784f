import { readDayNumber } from './iso-day.ts';
import { fractionOf } from './random.ts';

const RESTATED_FOR_DAYS = 2;
const RESTATED_SHARE = 0.25;

/**
 * How often a dated row's numbers were restated by `day`: in each of the two days after its own, a quarter
 * of the rows. A row's numbers depend on this count, so a lookback finds changed and unchanged rows.
 */
export function countRestatements(day: string, date: string, ...identity: (string | number)[]): number {
  const age = Math.min(RESTATED_FOR_DAYS, readDayNumber(day) - readDayNumber(date));
  let count = 0;
  for (let after = 1; after <= age; after++) {
    if (fractionOf('restated', after, date, ...identity) < RESTATED_SHARE) count++;
  }
  return count;
}
