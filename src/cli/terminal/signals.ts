import { AbortedError } from '../../model/errors.ts';
import type { Output } from './output.ts';

/** The part of `process` that signal handling needs. */
export interface SignalHost {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  removeAllListeners(signal: NodeJS.Signals): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
  exit(code: number): unknown;
}

/** What the first Ctrl-C or SIGTERM does: a run keeps its pages, other work closes what it has open, the rest just ends. */
export type StopBehaviour = 'keep-pages' | 'close' | 'quit';

/** How the process is stopped. */
export interface StopControl {
  /** Aborts at the first signal, with the exit code in its reason. */
  readonly signal: AbortSignal;
  readonly choose: (behaviour: StopBehaviour) => void;
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof EXIT_CODES;

/** `timeout` and npm pass a signal on to a process that its group has sent it to already: nobody asked twice. */
const ECHO_MS = 500;

/**
 * Listens for Ctrl-C and SIGTERM: the first stops gracefully, the second at once. As PID 1, Node ignores
 * SIGTERM without a listener, so containers need this even if there is nothing to keep.
 *
 * @param monotonic ms of a clock that nobody sets
 */
export function listenForSignals(
  host: SignalHost,
  output: Pick<Output, 'writeNote'>,
  monotonic: () => number,
): StopControl {
  const controller = new AbortController();
  let behaviour: StopBehaviour = 'close';
  let stoppedAtMs = -Infinity;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    host.on(signal, () => {
      if (monotonic() - stoppedAtMs < ECHO_MS) return;
      if (controller.signal.aborted || behaviour === 'quit') {
        quit(host, signal);
        return;
      }
      stoppedAtMs = monotonic();
      if (behaviour === 'keep-pages') {
        const again =
          signal === 'SIGINT' ? 'press Ctrl-C again to quit at once' : 'another signal quits at once';
        output.writeNote(`stopping: keeping the pages already paid for; ${again}`);
      }
      controller.abort(toAbortedError(signal, behaviour));
    });
  }
  return {
    signal: controller.signal,
    choose(next) {
      behaviour = next;
    },
  };
}

function toAbortedError(signal: StopSignal, behaviour: StopBehaviour): AbortedError {
  const continues = behaviour === 'keep-pages' ? ' to continue' : '';
  return new AbortedError(`stopped by ${signal}`, {
    code: 'aborted',
    hint: `Nothing is left half done; run the same command again${continues}.`,
    exitCode: EXIT_CODES[signal],
  });
}

/** Ends the process as the signal would that stopped it: some programs take 143 for a failure. */
export function dieOfSignal(host: SignalHost, exitCode: number): void {
  const signal = (['SIGINT', 'SIGTERM'] as const).find((one) => EXIT_CODES[one] === exitCode);
  if (signal !== undefined) quit(host, signal);
}

// process.exit() waits for a running DuckDB query; dying from the signal does not, and shells show the same
// 130 or 143. This only fails as PID 1, which the kernel protects.
function quit(host: SignalHost, signal: StopSignal): void {
  host.removeAllListeners(signal);
  host.kill(host.pid, signal);
  host.exit(EXIT_CODES[signal]);
}
