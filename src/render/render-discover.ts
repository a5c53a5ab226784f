import {
  type ContractFile,
  type DiscoveredStream,
  type DiscoverReport,
  type ProbeOutcome,
  saysWhatWasFound,
} from '../model/discover-report.ts';
import { nameScan } from '../model/stream.ts';
import type { Screen } from './screen.ts';
import { describeEvidence } from './describe-evidence.ts';
import { describeQuota } from './describe-run.ts';
import { drawFields } from './draw-fields.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { describeEnd, withoutFirstOffset, withoutName } from '../text/name-once.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

const MOST_DIFFERENCES = 6;

/** What was discovered, for people: one block per stream, then what to do with it. */
export function renderDiscovery(report: DiscoverReport, screen: Screen, nowMs: number): string {
  const columns = screen.columns();
  return [
    ...report.streams.filter(({ error }) => error === undefined).map((found) => renderStream(found, screen)),
    ...describeFailures(report.streams).map((text) => wrapText(text, columns)),
    wrapText(describeProbes(report.probes), columns),
    wrapText(report.contracts.map(describeContract).join('\n'), columns),
    describeLines(report, columns),
    wrapText(describeCost(report, nowMs), columns),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

/** One sentence about a discovery. */
export function summarizeDiscovery({ streams, requestsSpent, contracts }: DiscoverReport): string {
  const sampled = streams.filter(({ status }) => status === 'sampled');
  const failed = streams.filter(({ status }) => status === 'failed');
  const written = contracts.filter(({ state }) => state === 'written' || state === 'replaced');
  return [
    `sampled ${formatCountOf(sampled.length, 'stream')} with ${formatCountOf(requestsSpent, 'request')}`,
    failed.length === 0 ? '' : `${formatCountOf(failed.length, 'stream')} failed`,
    written.length === 0 ? '' : `saved ${formatCountOf(written.length, 'contract')}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function renderStream(found: DiscoveredStream, screen: Screen): string {
  const { stream, slice, status, fields } = found;
  const columns = screen.columns();
  const name = toSafeLine(nameScan(stream, slice));
  if (status === 'unavailable') return wrapText(`${name}: the API has no such endpoint (404)`, columns);
  const title = wrapText(`${name}: ${describeSample(found)}`, columns).replace(
    name,
    screen.paint('bold', name),
  );
  return [
    title,
    ...(fields.length === 0 ? [] : ['', drawFields(fields, columns)]),
    ...describeEvidence(found, screen),
  ].join('\n');
}

// What stops one stream often stops those after it too: reported once for all of them.
function describeFailures(streams: readonly DiscoveredStream[]): readonly string[] {
  const names = new Map<string, string[]>();
  const own = streams.map(({ stream }) => stream);
  for (const { stream, slice, error } of streams) {
    if (error === undefined) continue;
    const nameless = own.reduce((text, name) => withoutName(text, name), error.message);
    const message = withoutFirstOffset(nameless);
    const text = `${toSafeBlock(message)}\n  next: ${toSafeBlock(error.hint)}`;
    names.set(text, [...(names.get(text) ?? []), toSafeLine(nameScan(stream, slice))]);
  }
  return [...names].map(([text, failed]) => describeEnd(failed.join(', '), 'failed', text));
}

function describeSample({ sample }: DiscoveredStream): string {
  if (sample === undefined) return '';
  const { records, total, pages, isWhole, place, notObjects } = sample;
  if (records + notObjects === 0) return 'the endpoint holds no records';
  const all = isWhole ? 'all ' : '';
  const of = isWhole || total === undefined ? '' : ` of ${formatCount(total)}`;
  const from = pages === 1 ? '' : ` from ${formatCountOf(pages, 'page')}`;
  const where =
    place.pointer === ''
      ? place.kind === 'array'
        ? 'an array at the top of the response'
        : 'the response itself is the record'
      : `${place.kind === 'array' ? 'an array' : 'one record'} at ${toSafeLine(place.pointer)}`;
  const aside =
    notObjects === 0
      ? ''
      : `; ${formatCountOf(notObjects, 'other')} not ${notObjects === 1 ? 'a JSON object' : 'JSON objects'}`;
  const noun = (total ?? records) === 1 ? 'record' : 'records';
  return `${all}${formatCount(records)}${of} ${noun}${from}, ${where}${aside}`;
}

function describeProbes({ state, mostRequests, affordable, error }: ProbeOutcome): string {
  if (error !== undefined)
    return `Parameters were not ${state === 'asked' ? 'all ' : ''}tested: ${toSafeBlock(error.message)}\n  next: ${toSafeBlock(error.hint)}`;
  if (state !== 'not-asked') return '';
  const cost = formatCountOf(mostRequests, 'more request');
  const room = affordable === undefined ? '' : `, and the quota allows ${formatCount(affordable)} now`;
  return `Start dates and filters were not tested: that takes up to ${cost}, with --yes${room}.`;
}

function describeContract({ path, state, differences }: ContractFile): string {
  const shown = differences.slice(0, MOST_DIFFERENCES).map((line) => `  ${toSafeLine(line)}`);
  const more = differences.length - shown.length;
  const lines = [...shown, ...(more > 0 ? [`  and ${formatCount(more)} more`] : [])];
  const name = toSafeLine(path);
  switch (state) {
    case 'written':
      return `Saved ${name}.`;
    case 'unchanged':
      return `${name} is already up to date.`;
    case 'replaced':
      return [`Replaced ${name}. Before:`, ...lines].join('\n');
    case 'kept':
      return [`Kept ${name}, which differs (--force replaces it):`, ...lines].join('\n');
  }
}

function describeLines({ configLines, contracts }: DiscoverReport, columns: number | undefined): string {
  if (configLines === undefined) return '';
  const aside = 'A contract states what the sample showed, and requires what every sampled record had.';
  return [
    `To keep this, put into the config:\n\n${configLines}`,
    ...(contracts.some(saysWhatWasFound) ? [wrapText(aside, columns)] : []),
  ].join('\n\n');
}

function describeCost({ requestsSpent, quota }: DiscoverReport, nowMs: number): string {
  const left = describeQuota(quota, nowMs);
  return `${formatCountOf(requestsSpent, 'request')} used${left === '' ? '' : `; ${left}`}.`;
}
