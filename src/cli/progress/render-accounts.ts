import { formatDuration } from '../../text/duration.ts';
import { formatCount, formatCountOf } from '../../text/format-count.ts';
import { cutToWidth } from '../../render/measure-width.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import type { AccountProgress, AccountsState } from './accounts-state.ts';
import type { ProgressState } from './progress-state.ts';
import type { RenderOptions } from './render-options.ts';

const MOST_FAILED = 5;
const MOST_WORKING = 12;
/** A long name must not push what the others are at out of the line. */
const WIDEST_NAME = 24;

/** Draws a sync of several accounts: those at work, those that failed, and how many there are of each kind. */
export function renderAccounts(state: AccountsState, options: RenderOptions): string {
  const entries = [...state];
  const failed = entries.flatMap(([name, one]) =>
    one.state === 'failed' ? [[name, toSafeLine(one.message)] as const] : [],
  );
  const working = entries.flatMap(([name, one]) =>
    one.state === 'working' ? [[name, one.run] as const] : [],
  );
  const width = Math.min(WIDEST_NAME, Math.max(0, ...working.map(([name]) => name.length)));
  const { paint, columns, hasUnicode } = options;
  const cut = (text: string) => cutToWidth(text, columns - 2, hasUnicode ? '…' : '...');
  const more = failed.length - MOST_FAILED;
  return [
    ...failed
      .slice(0, MOST_FAILED)
      .map(([name, message]) => `${paint('red', hasUnicode ? '✗' : 'x')} ${cut(`${name}  ${message}`)}`),
    ...(more > 0 ? [paint('red', `  ${cut(`and ${formatCountOf(more, 'more account')} that failed`)}`)] : []),
    ...working
      .slice(0, MOST_WORKING)
      .map(
        ([name, run]) =>
          `${paint('cyan', hasUnicode ? '›' : '>')} ${cut(`${name.padEnd(width)}  ${describeRun(run)}`)}`,
      ),
    paint(
      'dim',
      cut(
        describeCounts(
          entries.map(([, one]) => one),
          options,
        ),
      ),
    ),
  ].join('\n');
}

/** What a run is at: the stream that it reads, and how many of them are done. */
function describeRun({ streams, publishing }: ProgressState): string {
  if (streams.length === 0) return 'starting';
  const done = streams.filter(({ state }) => state === 'finished').length;
  const count = `${done}/${formatCountOf(streams.length, 'stream')}`;
  if (publishing !== undefined) return `${count}  publishing`;
  const busy = streams.find(({ state }) => state === 'reading' || state === 'loading');
  if (busy === undefined) return count;
  const pages = busy.pagesPlanned === undefined ? '' : ` of ${formatCount(busy.pagesPlanned)}`;
  const what =
    busy.state === 'loading'
      ? `loading ${formatCountOf(busy.rowsDone, 'row')}`
      : `page ${formatCount(busy.pagesDone)}${pages}`;
  return `${count}  ${busy.stream}: ${what}`;
}

/** `12 of 40 accounts done, 4 at work, 2 wait for the quota (the first for 12m), 1 failed`. */
function describeCounts(all: readonly AccountProgress[], { nowMs }: RenderOptions): string {
  const count = (state: AccountProgress['state']) => all.filter((one) => one.state === state).length;
  const waits = all.flatMap((one) => (one.state === 'waiting' ? [one.untilMs] : []));
  const firstMs = Math.max(0, Math.min(...waits) - nowMs);
  const parts = [
    `${formatCount(count('done'))} of ${formatCountOf(all.length, 'account')} done`,
    describe(count('working'), 'at work'),
    waits.length === 0
      ? ''
      : `${formatCount(waits.length)} waiting for the quota (the first for ${formatDuration(firstMs)})`,
    describe(count('queued'), 'queued'),
    describe(count('stopped'), 'to be continued later'),
    describe(count('failed'), 'failed'),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function describe(count: number, what: string): string {
  return count === 0 ? '' : `${formatCount(count)} ${what}`;
}
