import { joinFamilies, listFamilies } from './render-metrics.ts';

/** Of the data, its key and all its runs; a schedule and the last run are described by the new text. */
const OF_DATA =
  /^sluice_(stream_|rows_|runs_total|requests_|retries_|rate_limited_|waited_|quota_|last_success_|key_expiry_)/;
const ACCOUNT = /[{,]account="([^"]*)"/;
const SAMPLE = /^\w+(\{.*\})? \S+$/;

/**
 * The text of metrics with series of an earlier text: those of accounts (undefined: of a config without any) of which
 * only the last run is known, because their config could not be read.
 */
export function keepEarlier(text: string, earlier: string, unread: ReadonlySet<string | undefined>): string {
  const own = listFamilies(text);
  const told = new Set(own.flatMap(({ name, samples }) => samples.map((line) => seriesOf(name, line))));
  const kept = listFamilies(earlier)
    .filter(({ name }) => OF_DATA.test(name))
    .map(({ name, heading, samples }) => {
      const isKept = (line: string) =>
        SAMPLE.test(line) && unread.has(accountOf(line)) && !told.has(seriesOf(name, line));
      return { name, heading, samples: samples.filter(isKept) };
    });
  return joinFamilies([...own, ...kept.filter(({ samples }) => samples.length > 0)]);
}

function accountOf(line: string): string | undefined {
  return ACCOUNT.exec(line)?.[1];
}

/** The samples that one text describes together: those of a metric and an account. */
function seriesOf(name: string, line: string): string {
  return `${name} ${accountOf(line) ?? ''}`;
}
