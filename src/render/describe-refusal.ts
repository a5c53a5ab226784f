import { describeHolder, isTurnedAway, type RefusedRun } from '../model/refused-run.ts';
import { formatCountOf } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import { toSafeBlock } from './safe-text.ts';

/** When and why a sync was refused that left no record of its own, and what to do next; '' if none was. */
export function describeRefusal(refused: RefusedRun | undefined): string {
  if (refused === undefined) return '';
  const { error, startedAt, times, since } = refused;
  const at = formatMoment(startedAt);
  const many = `${formatCountOf(times, 'sync')} in a row since ${formatMoment(since)}`;
  if (isTurnedAway(refused)) {
    const who = times === 1 ? `A sync was turned away ${at}` : `${many} were turned away, the last ${at}`;
    return toSafeBlock(`${who}: ${describeHolder(refused)}.\n  next: once that has ended: sluice sync`);
  }
  const who =
    times === 1
      ? `The last sync was refused before it began, ${at}`
      : `${many} were refused before they began, the last ${at}`;
  return toSafeBlock(`${who} (exit code ${error.exitCode}): ${error.message}\n  next: ${error.hint}`);
}

/** The same in a few words, for lists; '' if none was. */
export function summarizeRefusal(refused: RefusedRun | undefined): string {
  if (refused === undefined) return '';
  return isTurnedAway(refused)
    ? 'a sync was turned away'
    : `the last sync was refused (exit code ${refused.error.exitCode})`;
}
