import { createLogUpdate } from 'log-update';
import type { Clock } from '../../model/clock.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import type { Output } from '../terminal/output.ts';
import type { LogWriter } from './log-writer.ts';
import { describeEvent } from './describe-event.ts';
import type { ProgressDisplay } from './progress-display.ts';
import { createProgressState } from './progress-state.ts';
import { reduceProgress } from './reduce-progress.ts';
import { renderProgress } from './render-progress.ts';

const REDRAW_MS = 200;

/** Shows a run as lines that redraw themselves, with warnings and errors kept above them. */
export function createLiveDisplay(output: Output, clock: Clock, log: LogWriter): ProgressDisplay {
  const terminal = output.stderr;
  // Without hiding the cursor, no exit handler is needed to restore it.
  const update = createLogUpdate(terminal.stream as NodeJS.WritableStream, { showCursor: true });
  let state = createProgressState(clock.now());
  let isClosed = false;

  function draw(): void {
    const picture = renderProgress(state, {
      // Some consoles wrap a line that fills the last column.
      columns: (terminal.columns() ?? 80) - 1,
      nowMs: clock.now(),
      hasUnicode: terminal.hasUnicode,
      paint: terminal.paint,
    });
    if (picture !== '') update(output.mask(picture));
  }

  output.guardNotes((write) => {
    update.clear();
    write();
    draw();
  });
  // The countdown of a wait moves without any event.
  const ticker = setInterval(draw, REDRAW_MS);
  ticker.unref();

  return {
    onProgress(event) {
      const nowMs = clock.now();
      const line = isWorthKeeping(event) ? describeEvent(event, state, nowMs) : undefined;
      state = reduceProgress(state, event, nowMs);
      if (line !== undefined) log(line);
    },
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

const KEPT: readonly ProgressEvent['type'][] = ['warning', 'stream-restarted'];

function isWorthKeeping(event: ProgressEvent): boolean {
  // Notes on a stream are shown in its line; notes on the run are shown nowhere else.
  if (event.type === 'note') return event.stream === undefined;
  return KEPT.includes(event.type) || (event.type === 'stream-finished' && event.report.error !== undefined);
}
