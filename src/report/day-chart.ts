import { max, sum } from 'd3-array';
import { scaleLinear } from 'd3-scale';
import { area, curveStepAfter } from 'd3-shape';
import type { DayFacts } from '../model/report-data.ts';
import { drawChart, PLOT, round } from './chart.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { formatDay } from './format-values.ts';
import { html, Markup } from './markup.ts';
import { scaleCounts } from './scales.ts';

/** A chart of days. */
export interface DayChart {
  readonly id: string;
  readonly title: string;
  readonly hasNumbers: boolean;
}

/** Rows by day of one table, small: one step a day, days without rows are gaps down to the axis. */
export function drawDayChart({ id, title, hasNumbers }: DayChart, days: DayFacts): Markup {
  const { counts } = days;
  const most = max(counts, ({ rows }) => rows) ?? 0;
  const { top, ticks } = scaleCounts(most, PLOT.small, 2);
  const place = scaleLinear().domain([0, counts.length]).range([0, 100]);
  // A step ends where the next day begins: the last one needs an end of its own.
  const steps = [
    ...counts.map(({ rows }, at) => ({ at, rows })),
    { at: counts.length, rows: counts.at(-1)?.rows ?? 0 },
  ];
  const path = area<(typeof steps)[number]>()
    .x(({ at }) => round(place(at)))
    .y0(PLOT.small)
    .y1(({ rows }) => top(rows))
    .curve(curveStepAfter)
    .digits(2)(steps);
  const first = counts[0]?.day ?? '';
  const last = counts.at(-1)?.day ?? '';
  return drawChart({
    id,
    title,
    unit: `rows by ${days.column}`,
    description: describeDays(days),
    legend: [],
    plotHeight: PLOT.small,
    // Its height has room for two labels.
    rowTicks: ticks.filter((_, at) => at === 0 || at === ticks.length - 1),
    columnTicks: [
      { at: 0, label: formatDay(first), anchor: 'start', isMinor: false },
      ...(counts.length > 1
        ? [{ at: 100, label: formatDay(last), anchor: 'end', isMinor: false } as const]
        : []),
    ],
    marks: html`<svg
      y="${PLOT.above}"
      width="100%"
      height="${PLOT.small}"
      viewBox="0 0 100 ${PLOT.small}"
      preserveAspectRatio="none"
    >
      <path class="first" d="${new Markup(path ?? '')}" />
    </svg>`,
    numbers: hasNumbers
      ? { head: ['Day', 'Rows'], rows: counts.map(({ day, rows }) => [day, formatCount(rows)]) }
      : undefined,
  });
}

/** What a chart of days says, and which rows it does not show. */
export function describeDays({ counts, column, earlier, later, dateless }: DayFacts): string {
  const first = counts[0]?.day ?? '';
  const last = counts.at(-1)?.day ?? '';
  const empty = counts.filter(({ rows }) => rows === 0).length;
  const shown = formatCountOf(
    sum(counts, ({ rows }) => rows),
    'row',
  );
  return [
    `${shown} from ${first} to ${last} by ${column}, at most ${formatCount(max(counts, ({ rows }) => rows) ?? 0)} a day.`,
    ...(empty > 0 ? [`${formatCountOf(empty, 'day')} without rows.`] : []),
    ...(earlier > 0 ? [`${formatCountOf(earlier, 'row')} before that.`] : []),
    ...(later > 0 ? [`${formatCountOf(later, 'row')} of days to come, not shown.`] : []),
    ...(dateless > 0 ? [`${formatCountOf(dateless, 'row')} without a date, not shown.`] : []),
  ].join(' ');
}
