import { scaleLinear } from 'd3-scale';
import { formatDuration } from '../text/duration.ts';
import { type ColumnTick, type RowTick, round } from './chart.ts';
import { formatShort } from './format-values.ts';

/** From a value to px from the top of the plot, with the labels of its axis. */
export interface ValueScale {
  readonly top: (value: number) => number;
  readonly ticks: readonly RowTick[];
}

/** A scale of counts from 0; whole numbers only. */
export function scaleCounts(most: number, plotHeight: number, tickCount = 3): ValueScale {
  const scale = scaleLinear()
    .domain([0, Math.max(1, most)])
    .range([plotHeight, 0])
    .nice(tickCount);
  const ticks = scale.ticks(tickCount).filter(Number.isInteger);
  return {
    top: (value) => round(scale(value)),
    ticks: ticks.map((value) => ({ at: round(scale(value)), label: formatShort(value) })),
  };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
// Steps people use for time: ten minutes do not divide an hour evenly on an axis.
const STEPS = [1, 2, 5, 10, 15, 30]
  .map((count) => count * SECOND)
  .concat(
    [1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
    [1, 2, 3, 6, 12, 24, 48, 96].map((count) => count * HOUR),
  );
const MOST_STEPS = 4;

/** A scale of durations from 0, ms. */
export function scaleDurations(mostMs: number, plotHeight: number): ValueScale {
  const step =
    STEPS.find((one) => mostMs / one <= MOST_STEPS) ?? Math.ceil(mostMs / MOST_STEPS / HOUR) * HOUR;
  const steps = Math.max(1, Math.ceil(mostMs / step));
  const scale = scaleLinear()
    .domain([0, steps * step])
    .range([plotHeight, 0]);
  return {
    top: (value) => round(scale(value)),
    ticks: Array.from({ length: steps + 1 }, (_, at) => ({
      at: round(scale(at * step)),
      label: at === 0 ? '0' : formatDuration(at * step),
    })),
  };
}

/** Labels nearer to each other than this share of the width may run into one another, percent. */
const LEAST_GAP = 14;

/** Labels under some of many columns: at most `most`, every second one minor. */
export function labelColumns(
  labels: readonly string[],
  center: (at: number) => number,
  most = 6,
): readonly ColumnTick[] {
  const width = center(1) - center(0);
  const every = Math.max(1, Math.ceil(labels.length / most), width > 0 ? Math.ceil(LEAST_GAP / width) : 1);
  return labels.flatMap((label, at): readonly ColumnTick[] => {
    if (at % every !== 0) return [];
    const place = center(at);
    const anchor = place < 6 ? 'start' : place > 94 ? 'end' : 'middle';
    return [
      {
        at: anchor === 'start' ? 0 : anchor === 'end' ? 100 : place,
        label,
        anchor,
        isMinor: (at / every) % 2 === 1,
      },
    ];
  });
}
