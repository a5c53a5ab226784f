import type { SyncError } from '../model/errors.ts';
import { BugError } from '../model/errors.ts';
import type { Screen } from './screen.ts';
import { toSafeBlock } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** An error for people: what failed, and what to do next. Only a bug in Sluice shows its stack. */
export function renderError(error: SyncError, { paint, columns }: Screen): string {
  const lines = [`${paint('red', 'error:')} ${toSafeBlock(error.message)}`, toSafeBlock(error.hint)].map(
    (text) => wrapText(text, columns()),
  );
  if (error instanceof BugError) lines.push(readStack(error));
  return lines.filter((line) => line !== '').join('\n');
}

function readStack(error: BugError): string {
  const origin = error.cause instanceof Error ? error.cause : error;
  return toSafeBlock(origin.stack ?? '');
}
