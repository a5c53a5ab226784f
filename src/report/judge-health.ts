import { countScans } from '../text/format-count.ts';
import { isTurnedAway } from '../model/refused-run.ts';
import type { ReportData } from '../model/report-data.ts';
import { listFindings } from './list-findings.ts';
import {
  findLastEnded,
  findLateness,
  type Finding,
  type JudgedStream,
  judgeStream,
  type Tone,
} from './stream-state.ts';

export interface Health {
  readonly tone: Tone;
  /** One sentence. */
  readonly headline: string;
  readonly streams: readonly JudgedStream[];
  readonly findings: readonly Finding[];
  /** Without a verified scan for longer than this a stream is late, ms. */
  readonly lateAfterMs: number;
}

/** Judges what was gathered: everything the report says in words comes from here. */
export function judgeHealth(data: ReportData): Health {
  const lateAfterMs = findLateness(data.runs);
  const streams = data.streams.map((facts) => judgeStream(facts, Date.parse(data.madeAt), lateAfterMs));
  const findings = listFindings(data, streams, lateAfterMs);
  const tone = (['bad', 'note'] as const).find((one) => findings.some((finding) => finding.tone === one));
  return {
    tone: tone ?? (streams.some(({ state }) => ['verified', 'unverified'].includes(state)) ? 'good' : 'idle'),
    headline: describeHealth(streams, data),
    streams,
    findings,
    lateAfterMs,
  };
}

const endings: Readonly<Record<string, string>> = {
  failed: 'failed',
  partial: 'was not complete',
  stopped: 'was stopped',
  interrupted: 'was interrupted',
  killed: 'did not record its end',
};

function describeHealth(streams: readonly JudgedStream[], data: ReportData): string {
  const { published, runs, refused, faults, losses } = data;
  const isNew = published === undefined && runs.length === 0;
  const isRefused = refused !== undefined && !isTurnedAway(refused);
  const standing = isNew
    ? 'Nothing was synced yet'
    : faults.length + losses.length > 0
      ? 'What is published was changed or damaged'
      : describeStanding(streams);
  const ending = isNew ? undefined : endings[findLastEnded(runs)?.status ?? ''];
  // What a stream needs comes first, and tells of the run as well; of one without a record nothing else tells.
  const isTold = ending === undefined || streams.some(({ tone }) => tone === 'bad');
  if (isTold && !isRefused) return standing;
  const last = isRefused ? 'sync was refused before it began' : `run ${ending}`;
  return `The last ${last}; ${standing.slice(0, 1).toLowerCase()}${standing.slice(1)}`;
}

function describeStanding(streams: readonly JudgedStream[]): string {
  const offered = streams.filter(({ state }) => state !== 'unavailable');
  const count = (tone: Tone) => offered.filter((stream) => stream.tone === tone).length;
  const scans = countScans(offered.map(({ facts }) => facts));
  const all = offered.length === 1 ? `The ${scans.replace('1 ', '')} is` : `All ${scans} are`;
  const of = `of ${scans}`;
  if (offered.length === 0) return 'No stream is synced';
  if (count('bad') > 0) return `${count('bad')} ${of} ${count('bad') === 1 ? 'needs' : 'need'} attention`;
  if (count('good') === offered.length) return `${all} verified and up to date`;
  const unproved = offered.filter(({ state }) => state === 'unverified').length;
  if (count('good') + unproved === offered.length)
    return `${all} up to date; ${unproved} could not be verified`;
  return `${count('good')} ${of} ${count('good') === 1 || offered.length === 1 ? 'is' : 'are'} verified and up to date`;
}
