import { joinMetricTexts } from './render-metrics.ts';

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
  const known = new Set(listSamples(text).map(({ series }) => series));
  const kept = listSamples(earlier).filter(
    ({ name, account, series }) => OF_DATA.test(name) && unread.has(account) && !known.has(series),
  );
  return joinMetricTexts([text, ...kept.map(({ heading, line }) => `${heading}\n${line}\n`)]);
}

function listSamples(text: string) {
  return text.split(/^(?=# HELP )/m).flatMap((family) => {
    const [help = '', type = '', ...lines] = family.trimEnd().split('\n');
    const [, name] = /^# HELP (\w+)/.exec(help) ?? [];
    if (name === undefined || !type.startsWith(`# TYPE ${name} `)) return [];
    return lines
      .filter((line) => SAMPLE.test(line))
      .map((line) => {
        const account = ACCOUNT.exec(line)?.[1];
        return { name, account, line, heading: `${help}\n${type}`, series: `${name} ${account ?? ''}` };
      });
  });
}
