import { max, sum } from 'd3-array';
import { scaleBand } from 'd3-scale';
import { stack } from 'd3-shape';
import { drawChart, FLAG, type LegendItem, PLOT, round } from './chart.ts';
import { html, type Markup } from './markup.ts';
import { labelColumns, type ValueScale } from './scales.ts';

/** One bar: a value for each part of the legend, from the bottom up. */
export interface Bar {
  /** What it is called on the axis, in its tooltip and in the table. */
  readonly label: string;
  readonly name: string;
  readonly values: readonly number[];
  /** A word above it, e.g. where a run failed. */
  readonly flag?: string | undefined;
}

export interface BarChart {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly description: string;
  /** Parts of each bar. */
  readonly parts: readonly LegendItem[];
  readonly bars: readonly Bar[];
  readonly scale: (most: number, plotHeight: number) => ValueScale;
  readonly format: (value: number) => string;
  /** A line across, e.g. a limit. */
  readonly limit?: { readonly value: number; readonly label: string } | undefined;
  /** What a flag above a bar means. */
  readonly flagged?: string;
  /** Heading of the bars' names in the table. */
  readonly nameHead: string;
  /** Room for so many bars at least: two of them should not fill a page. */
  readonly leastRoom: number;
  readonly hasNumbers: boolean;
}

/** Bars, each a stack of parts. */
export function drawBarChart(chart: BarChart): Markup {
  const { bars, parts, limit } = chart;
  const plotHeight = PLOT.height;
  const totals = bars.map(({ values }) => sum(values));
  const { top, ticks } = chart.scale(Math.max(max(totals) ?? 0, limit?.value ?? 0), plotHeight);
  const room = Math.max(bars.length, chart.leastRoom);
  const band = scaleBand<number>()
    .domain(Array.from({ length: room }, (_, at) => at))
    .range([0, 100])
    .paddingInner(0.25)
    .paddingOuter(0.1);
  const left = (at: number) => band(at) ?? 0;
  const layers = stack<number, number>()
    .keys(parts.map((_, part) => part))
    .value((bar, part) => bars[bar]?.values[part] ?? 0)(bars.map((_, at) => at));
  const marks = bars.map(
    (bar, at) =>
      html`<g
        >${describeBar(chart, bar)}${layers.map((layer) => {
          const [low = 0, high = 0] = layer[at] ?? [];
          return (
            high > low &&
            drawPart(parts[layer.key]?.mark ?? '', {
              left: left(at),
              width: band.bandwidth(),
              low: top(low),
              high: top(high),
            })
          );
        })}${bar.flag !== undefined && drawFlag(left(at) + band.bandwidth() / 2, top(totals[at] ?? 0), bar.flag)}</g
      >`,
  );
  return drawChart({
    ...chart,
    // A colour that does not occur needs no explanation.
    legend: parts.filter((_, part) => part === 0 || bars.some(({ values }) => (values[part] ?? 0) > 0)),
    flagged: bars.some(({ flag }) => flag !== undefined) ? chart.flagged : undefined,
    plotHeight,
    rowTicks: ticks,
    columnTicks: labelColumns(
      bars.map(({ label }) => label),
      (at) => left(at) + band.bandwidth() / 2,
    ),
    marks: html`${marks}${limit && drawLimit(top(limit.value), limit.label)}`,
    numbers: chart.hasNumbers
      ? {
          head: [chart.nameHead, ...parts.map(({ label }) => label)],
          rows: bars.map(({ name, values, flag }) => [
            flag === undefined ? name : `${name} (${flag})`,
            ...values.map(chart.format),
          ]),
        }
      : undefined,
  });
}

function describeBar({ parts, format }: BarChart, { name, values, flag }: Bar): Markup {
  const told = parts.map(({ label }, part) => `${label}: ${format(values[part] ?? 0)}`);
  return html`<title>${[name, ...(flag === undefined ? [] : [flag]), ...told].join('\u2002')}</title>`;
}

// What is there must be seen: a bar of one row beside one of a million has a height of one px.
const LEAST_PX = 1;

/** The edges of a part: across in percent, up and down in px from the top of the plot. */
interface PartEdges {
  readonly left: number;
  readonly width: number;
  readonly low: number;
  readonly high: number;
}

function drawPart(mark: string, { left, width, low, high }: PartEdges): Markup {
  const height = Math.max(LEAST_PX, low - high);
  return html`<rect
    class="${mark}"
    x="${round(left)}%"
    width="${round(width)}%"
    y="${round(PLOT.above + low - height)}"
    height="${round(height)}"
  />`;
}

function drawFlag(center: number, top: number, flag: string): Markup {
  return html`<text class="flag" x="${round(center)}%" y="${round(PLOT.above + top - 3)}" text-anchor="middle"
    ><title>${flag}</title>${FLAG}</text
  >`;
}

function drawLimit(at: number, label: string): Markup {
  const y = round(PLOT.above + at);
  return html`<line class="limit" x1="0" x2="100%" y1="${y}" y2="${y}" /><text
      class="limit-label"
      x="100%"
      y="${y - 4}"
      text-anchor="end"
      >${label}</text
    >`;
}
