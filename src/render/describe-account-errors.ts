import type { ExitCode } from '../model/errors.ts';
import type { ReportedError } from '../model/run-report.ts';
import { formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { toSafeLine } from './safe-text.ts';

const MOST_CAUSES = 10;

/** An account in which something failed. */
export interface FailedAccount {
  readonly account: string;
  readonly exitCode: ExitCode;
  readonly error: ReportedError | undefined;
}

/** What failed and what to do next. What accounts share, such as a broken config, is said once; '' if nothing failed. */
export function describeAccountErrors(failed: readonly FailedAccount[]): string {
  const byCause = Map.groupBy(failed, ({ error }) => `${error?.message ?? ''}\n${error?.hint ?? ''}`);
  const lines = [...byCause.values()].slice(0, MOST_CAUSES).map((alike) => {
    const [first] = alike;
    const names = listNames(alike.map(({ account }) => account));
    const { message = `exit code ${first?.exitCode ?? 1}`, hint = '' } = first?.error ?? {};
    const next = hint === '' ? '' : `\n  next: ${toSafeLine(hint)}`;
    return `${names}: ${toSafeLine(message)}${next}`;
  });
  const more = byCause.size - lines.length;
  return [...lines, ...(more > 0 ? [`and ${formatCountOf(more, 'more cause')}`] : [])].join('\n');
}
