const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;

const FORMS = [
  // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(String.raw`^${DAY}, (?<day>\d{2}) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(String.raw`^${LONG_DAY}, (?<day>\d{2})-${MONTH}-(?<shortYear>\d{2}) ${TIME} GMT$`),
  // asctime, which is in UTC too: Sun Nov  6 08:49:37 1994
  new RegExp(String.raw`^${DAY} ${MONTH} (?<day>\d{2}| \d) ${TIME} (?<year>\d{4})$`),
];

/**
 * Epoch ms of an HTTP-date in any of its three forms (RFC 9110 section 5.6.7), always read as UTC;
 * undefined for anything else. `nowMs` settles the century of a two-digit year.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts !== undefined) return toEpochMs(parts, nowMs);
  }
  return undefined;
}

function toEpochMs(parts: Readonly<Record<string, string | undefined>>, nowMs: number): number | undefined {
  const [day, hour, minute, second] = [parts['day'], parts['hour'], parts['minute'], parts['second']].map(
    Number,
  );
  if (day === undefined || hour === undefined || minute === undefined || second === undefined)
    return undefined;
  // The grammar allows a leap second; epoch time has none.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const month = MONTHS.indexOf(parts['month'] ?? '');
  const clock = { hour, minute, second: Math.min(second, 59) };
  const shortYear = parts['shortYear'];
  if (shortYear === undefined) return buildDate(Number(parts['year']), month, day, clock);
  const century = new Date(nowMs).getUTCFullYear() - (new Date(nowMs).getUTCFullYear() % 100);
  // RFC 9110: what appears to be more than 50 years ahead is the latest past year with those digits.
  const latest = new Date(nowMs);
  latest.setUTCFullYear(latest.getUTCFullYear() + 50);
  for (const base of [century + 100, century, century - 100]) {
    const date = buildDate(base + Number(shortYear), month, day, clock);
    if (date !== undefined && date <= latest.getTime()) return date;
  }
  return undefined;
}

function buildDate(
  year: number,
  month: number,
  day: number,
  clock: { readonly hour: number; readonly minute: number; readonly second: number },
): number | undefined {
  // Date.UTC reads the years 0-99 as 1900-1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  if (date.getUTCMonth() !== month || date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(clock.hour, clock.minute, clock.second, 0);
}
