import type { SyncError } from './errors.ts';
import type { ProgressEvent } from './progress.ts';
import type { RunReport } from './run-report.ts';

/** A run that ended with a report, or that could not start. */
export type EndedRun = { readonly startedAtMs: number } & (
  | { readonly report: RunReport; readonly error?: undefined }
  | { readonly report?: undefined; readonly error: SyncError }
);

/**
 * Watches runs: shows them, counts them, sends notices of them. What goes wrong in an observer leaves the run and the
 * other observers alone.
 */
export interface RunObserver {
  /** Names it in warnings. */
  readonly name: string;
  /** Called for each event, in the flow of the run: it has to return quickly. */
  onEvent?(event: ProgressEvent): void;
  /** Called once a run ended, or could not start. Returns what went wrong in the observer, as warnings. */
  onEnd?(ended: EndedRun): Promise<readonly string[]>;
}

/**
 * Calls what somebody else wrote; where it fails, nothing is thrown, and no process ends. An async function is accepted
 * where nothing is returned: that one fails `later`.
 */
export function callSafely(
  call: () => unknown,
  onFailure: (thrown: unknown, when: 'now' | 'later') => void,
): void {
  try {
    const told = call();
    if (told instanceof Promise) told.catch((thrown: unknown) => onFailure(thrown, 'later'));
  } catch (thrown) {
    onFailure(thrown, 'now');
  }
}

/** Passes an event on to observers; returns what failed in them, as warnings. */
export function tellEvent(observers: readonly RunObserver[], event: ProgressEvent): readonly string[] {
  return observers.flatMap((observer) => {
    const failures: string[] = [];
    callSafely(
      () => observer.onEvent?.(event),
      (thrown, when) => {
        if (when === 'now') failures.push(describeFailure(observer, thrown));
        else keepLate(observer, thrown);
      },
    );
    return failures;
  });
}

/** What failed in observers after `onEvent` returned. */
const late = new WeakMap<RunObserver, readonly string[]>();

function keepLate(observer: RunObserver, thrown: unknown): void {
  late.set(observer, [...(late.get(observer) ?? []), describeFailure(observer, thrown)]);
}

/** Passes the end of a run on to observers, one after the other; returns what failed in them, as warnings. */
export async function tellEnd(
  observers: readonly RunObserver[],
  ended: EndedRun,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (const observer of observers) {
    warnings.push(...new Set(late.get(observer)));
    late.delete(observer);
    try {
      warnings.push(...((await observer.onEnd?.(ended)) ?? []));
    } catch (thrown) {
      warnings.push(describeFailure(observer, thrown));
    }
  }
  return warnings;
}

/** A warning about a callback that failed. */
export function describeFailure({ name }: Pick<RunObserver, 'name'>, thrown: unknown): string {
  return `${name} threw: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}
