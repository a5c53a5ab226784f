import { createLogUpdate } from 'log-update';
import type { Clock } from '../../model/clock.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import type { Output } from '../terminal/output.ts';
import type { LogWriter } from './log-writer.ts';
import { measureWidth } from '../../render/measure-width.ts';
import { withName } from '../../text/name-once.ts';
import type { AccountsDisplay } from './accounts-display.ts';
import { type AccountProgress, followAccount, placeAccount } from './accounts-state.ts';
import { describeAccountEvent, nameLine } from './describe-account-event.ts';
import { describeEvent, type LogLine } from './describe-event.ts';
import type { ProgressDisplay } from './progress-display.ts';
import { createProgressState } from './progress-state.ts';
import { reduceProgress } from './reduce-progress.ts';
import { renderAccounts } from './render-accounts.ts';
import type { RenderOptions } from './render-options.ts';
import { renderProgress } from './render-progress.ts';

const REDRAW_MS = 200;

/** Shows a run as lines that redraw themselves, with warnings and errors kept above them. */
export function createLiveDisplay(output: Output, clock: Clock, log: LogWriter): ProgressDisplay {
  let state = createProgressState(clock.now());
  const picture = createLivePicture(output, clock, (options) => renderProgress(state, options));
  return {
    onProgress(event) {
      const nowMs = clock.now();
      const line = isWorthKeeping(event) ? describeEvent(event, state, nowMs) : undefined;
      state = reduceProgress(state, event, nowMs);
      if (line !== undefined) log(line);
    },
    close: picture.close,
  };
}

/** Shows the accounts of a sync as lines that redraw themselves, with what failed kept above them. */
export function createLiveAccounts(
  output: Output,
  clock: Clock,
  options: { readonly log: LogWriter; readonly names: readonly string[] },
): AccountsDisplay {
  const { log, names } = options;
  // Changed in place: with hundreds of accounts, a copy for each page would cost more than the page.
  const state = new Map<string, AccountProgress>(names.map((name) => [name, { state: 'queued' }]));
  const picture = createLivePicture(output, clock, (drawn) => renderAccounts(state, drawn));
  return {
    onAccount(event) {
      const nowMs = clock.now();
      const account = event.type === 'account-ended' ? event.end.account : event.account;
      state.set(account, placeAccount(event, nowMs));
      const isFailed = event.type === 'account-ended' && event.end.exitCode !== 0;
      const line = isFailed ? describeAccountEvent(event, nowMs) : undefined;
      if (line !== undefined) log(line);
    },
    follow: (account) => (event) => {
      state.set(account, followAccount(state.get(account), event, clock.now()));
      if (event.type === 'warning') log(nameLine(account, toWarning(event)));
    },
    close: picture.close,
  };
}

function toWarning(event: ProgressEvent & { readonly type: 'warning' }): LogLine {
  const { message, stream } = event;
  return {
    level: 'warn',
    message: stream === undefined ? message : withName(message, stream),
    fields: event,
  };
}

/** Draws at every tick, and around the lines of the log, until it is closed. */
function createLivePicture(
  output: Output,
  clock: Clock,
  render: (options: RenderOptions) => string,
): { readonly close: () => void } {
  const terminal = output.stderr;
  // Without hiding the cursor, no exit handler is needed to restore it.
  const update = createLogUpdate(terminal.stream as NodeJS.WritableStream, { showCursor: true });
  let isClosed = false;
  let shown = '';
  let shownColumns = 0;

  function draw(): void {
    const columns = terminal.columns() ?? 80;
    if (columns < shownColumns) clear();
    const picture = render({
      // Some consoles wrap a line that fills the last column.
      columns: columns - 1,
      nowMs: clock.now(),
      hasUnicode: terminal.hasUnicode,
      paint: terminal.paint,
    });
    if (picture === '') return;
    shown = output.mask(picture);
    shownColumns = columns;
    update(shown);
  }

  /** Erases the picture, with the rows into which a terminal that has become narrower wrapped its lines. */
  function clear(): void {
    update.clear();
    const columns = terminal.columns() ?? 80;
    if (columns < shownColumns) terminal.stream.write(ERASE_ROW_ABOVE.repeat(countWraps(shown, columns)));
    shown = '';
    shownColumns = 0;
  }

  output.guardNotes((write) => {
    clear();
    write();
    draw();
  });
  // The countdown of a wait moves without any event.
  const ticker = setInterval(draw, REDRAW_MS);
  ticker.unref();

  return {
    close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(ticker);
      draw();
      update.done();
      output.guardNotes(undefined);
    },
  };
}

const ERASE_ROW_ABOVE = '\u001b[1A\u001b[2K';

/** How many rows more than lines a terminal of this width shows. */
function countWraps(picture: string, columns: number): number {
  const rows = picture.split('\n').map((line) => Math.ceil(measureWidth(line) / columns));
  return rows.reduce((wraps, count) => wraps + Math.max(0, count - 1), 0);
}

const KEPT: readonly ProgressEvent['type'][] = ['warning', 'stream-restarted'];

function isWorthKeeping(event: ProgressEvent): boolean {
  // Notes on a stream are shown in its line; notes on the run are shown nowhere else.
  if (event.type === 'note') return event.stream === undefined;
  return KEPT.includes(event.type) || (event.type === 'stream-finished' && event.report.error !== undefined);
}
