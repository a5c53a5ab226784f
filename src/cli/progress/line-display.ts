import type { Clock } from '../../model/clock.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import { chooseLine, emptyLineMemory } from './choose-lines.ts';
import { describeEvent } from './describe-event.ts';
import type { LogWriter } from './log-writer.ts';
import type { ProgressDisplay } from './progress-display.ts';
import { createProgressState } from './progress-state.ts';
import { reduceProgress } from './reduce-progress.ts';

/** Shows a run as plain log lines: for files, pipes, CI and containers. */
export function createLineDisplay(
  clock: Clock,
  log: LogWriter,
  options: { readonly showsPages: boolean },
): ProgressDisplay {
  let state = createProgressState(clock.now());
  let memory = emptyLineMemory;
  return {
    onProgress(event) {
      const nowMs = clock.now();
      const choice = chooseLine(memory, event, nowMs);
      memory = choice.memory;
      const line =
        choice.due && (options.showsPages || !isPace(event)) ? describeEvent(event, state, nowMs) : undefined;
      state = reduceProgress(state, event, nowMs);
      if (line !== undefined) log(line);
    },
    close() {},
  };
}

function isPace(event: ProgressEvent): boolean {
  return event.type === 'page-staged' || event.type === 'stream-loading' || event.type === 'quota';
}
