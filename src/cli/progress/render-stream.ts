import type { Style } from '../../render/screen.ts';
import { formatCount, formatCountOf } from '../../text/format-count.ts';
import { cutToWidth } from '../../render/measure-width.ts';
import { measureShare } from './measure-share.ts';
import type { ProgressState, StreamProgress } from './progress-state.ts';
import type { RenderOptions } from './render-options.ts';

interface Marks {
  readonly queued: string;
  readonly busy: string;
  readonly done: string;
  readonly failed: string;
  readonly full: string;
  readonly empty: string;
  readonly ellipsis: string;
}

const UNICODE: Marks = {
  queued: '·',
  busy: '›',
  done: '✓',
  failed: '✗',
  full: '█',
  empty: '░',
  ellipsis: '…',
};
const ASCII: Marks = {
  queued: '.',
  busy: '>',
  done: '+',
  failed: 'x',
  full: '#',
  empty: '-',
  ellipsis: '...',
};
const BAR_WIDTH = 16;

/** Draws a stream's line; if there is too little room, the least important parts are left out first. */
export function renderStream(
  stream: StreamProgress,
  state: ProgressState,
  nameWidth: number,
  { columns, hasUnicode, paint }: RenderOptions,
): string {
  const marks = hasUnicode ? UNICODE : ASCII;
  const { mark, style } = chooseMark(stream, marks);
  const name = stream.stream.padEnd(nameWidth);
  const room = columns - 2;
  const choices = describeParts(stream, state, marks).map((parts) => [name, ...parts].join('  ').trimEnd());
  const fitting = choices.find((text) => text.length <= room) ?? choices.at(-1) ?? name;
  const text = cutToWidth(fitting, room, marks.ellipsis);
  return `${paint(style, mark)} ${stream.state === 'queued' ? paint('dim', text) : text}`;
}

function chooseMark(stream: StreamProgress, marks: Marks): { readonly mark: string; readonly style: Style } {
  switch (stream.state) {
    case 'queued':
      return { mark: marks.queued, style: 'dim' };
    case 'reading':
    case 'loading':
      return { mark: marks.busy, style: 'cyan' };
    case 'finished':
      return stream.report?.error === undefined
        ? { mark: marks.done, style: 'green' }
        : { mark: marks.failed, style: 'red' };
  }
}

/** What may follow the name, from the most to the least detailed. */
function describeParts(
  stream: StreamProgress,
  state: ProgressState,
  marks: Marks,
): readonly (readonly string[])[] {
  switch (stream.state) {
    case 'queued':
      return [['queued'], []];
    case 'loading':
      return [[`loading ${formatCountOf(stream.rowsDone, 'row')}`], ['loading']];
    case 'finished':
      return describeFinished(stream);
    case 'reading':
      return describeReading(stream, state, marks);
  }
}

function describeFinished({ report }: StreamProgress): readonly (readonly string[])[] {
  if (report === undefined) return [['done']];
  if (report.status !== 'complete') return [[report.status]];
  if (report.mode === 'rebuild') return [['rebuilt', formatCountOf(report.rowsInTable ?? 0, 'row')]];
  const verdict = report.verdict ?? 'done';
  const { inserted, updated, unchanged } = report.rows;
  const news = `${formatCount(inserted)} new, ${formatCount(updated)} changed`;
  return [[verdict, `${news}, ${formatCount(unchanged)} unchanged`], [verdict, news], [verdict]];
}

function describeReading(
  stream: StreamProgress,
  state: ProgressState,
  marks: Marks,
): readonly (readonly string[])[] {
  const rows = formatCountOf(stream.rowsDone, 'row');
  const rate = describeRate(stream, state);
  if (stream.pagesPlanned === undefined) {
    const pages = stream.pagesDone === 0 ? 'reading' : formatCountOf(stream.pagesDone, 'page');
    return [[pages, rows, rate], [pages, rows], [pages]];
  }
  const share = Math.min(1, measureShare(stream));
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  const filled = Math.floor(share * BAR_WIDTH);
  const bar = marks.full.repeat(filled) + marks.empty.repeat(BAR_WIDTH - filled);
  const pages = `${formatCount(stream.pagesDone)}/${formatCountOf(stream.pagesPlanned, 'page')}`;
  return [
    [`${bar} ${percent}`, pages, rows, rate],
    [`${bar} ${percent}`, pages, rows],
    [`${bar} ${percent}`, pages],
    [percent, pages],
    [percent],
  ];
}

function describeRate(stream: StreamProgress, state: ProgressState): string {
  const seconds = (state.activeMs - stream.beganAtActiveMs) / 1_000;
  const rows = stream.rowsDone - stream.rowsHeld;
  if (seconds < 0.5 || rows <= 0) return '';
  return `${formatCount(Math.round(rows / seconds))} rows/s`;
}
