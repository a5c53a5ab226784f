import { sum } from 'd3-array';
import type { ReportData } from '../model/report-data.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatCount } from '../text/format-count.ts';
import { describeWindow } from '../text/duration.ts';
import { formatAge } from './format-values.ts';
import type { Health } from './judge-health.ts';
import { html, type Markup, nameText } from './markup.ts';
import { findLastEnded, type JudgedStream } from './stream-state.ts';

/** A figure and its name. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly aside: Markup | string | undefined;
}

/** The figures that say most, for those who read no further. */
export function listFacts(data: ReportData, { streams }: Health): readonly Fact[] {
  const { runs, quota, quarantine, published, madeAt } = data;
  const offered = streams.filter(({ state }) => state !== 'unavailable');
  const good = offered.filter(({ state }) => state === 'verified').length;
  const last = findLastEnded(runs);
  return [
    { name: 'Streams verified', value: `${good} of ${offered.length}`, aside: undefined },
    {
      name: 'Rows',
      value: formatCount(sum(data.streams, ({ rows }) => rows ?? 0)),
      aside: published === undefined ? 'nothing published' : `${formatBytes(published.bytes)} published`,
    },
    describeReach(offered),
    {
      name: 'Last run',
      value: last?.status ?? 'none',
      aside: last === undefined ? undefined : formatAge(last.startedAt, madeAt),
    },
    {
      name: 'Quota left',
      value: quota?.remaining === undefined ? '–' : formatCount(quota.remaining),
      aside:
        quota?.limit === undefined
          ? undefined
          : `of ${formatCount(quota.limit)} requests ${describeWindow(quota.windowMs)}`,
    },
    { name: 'In quarantine', value: formatCount(quarantine.total), aside: undefined },
  ];
}

/** The day that every stream has reached; the newest of them would hide one that stays behind. */
function describeReach(streams: readonly JudgedStream[]): Fact {
  const reached = streams
    .flatMap(({ name, facts: { watermark } }) => (watermark === undefined ? [] : [{ name, watermark }]))
    .toSorted((a, b) => (a.watermark < b.watermark ? -1 : 1));
  const [oldest] = reached;
  const newest = reached.at(-1);
  const beside = reached.filter(({ watermark }) => watermark === oldest?.watermark).length - 1;
  return {
    name: 'Data up to',
    value: oldest?.watermark ?? '–',
    aside:
      oldest === undefined || oldest.watermark === newest?.watermark
        ? undefined
        : html`${nameText(oldest.name, 40)}${beside > 0 && ` and ${beside} more`}; others up to
          ${newest?.watermark}`,
  };
}

/** Figures side by side. */
export function drawFacts(facts: readonly Fact[]): Markup {
  return html`<dl class="facts">
    ${facts.map(
      ({ name, value, aside }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}${aside !== undefined && html` <span class="aside">${aside}</span>`}</dd>
        </div>`,
    )}
  </dl>`;
}
