import type { CheckItem, CheckReport } from '../../model/reports.ts';
import type { Terminal } from '../output.ts';
import { describeQuota } from './describe-run.ts';
import { formatCountOf } from './format-values.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';

/** The result of `check` for people: a line an item, and the fix below what needs one. */
export function renderCheck(report: CheckReport, terminal: Terminal, nowMs: number): string {
  const nameWidth = Math.max(0, ...report.items.map(({ name }) => name.length));
  const lines = report.items.map((item) => renderItem(item, nameWidth, terminal));
  const quota = describeQuota(report.quota, nowMs);
  const spent = `${formatCountOf(report.requestsSpent, 'request')} used${quota === '' ? '' : `; ${quota}`}.`;
  return [lines.join('\n'), `${capitalize(summarizeCheck(report))}. ${spent}`].join('\n\n');
}

/** One sentence about a check. */
export function summarizeCheck({ items }: CheckReport): string {
  const failed = items.filter(({ status }) => status === 'failed').length;
  const warnings = items.filter(({ status }) => status === 'warning').length;
  const aside = warnings === 0 ? '' : `, ${formatCountOf(warnings, 'warning')}`;
  return failed === 0 ? `everything works${aside}` : `${formatCountOf(failed, 'check')} failed${aside}`;
}

function renderItem({ name, status, detail, fix }: CheckItem, nameWidth: number, terminal: Terminal): string {
  const { paint } = terminal;
  const style = STYLES[status];
  const line = `${paint(style, WORDS[status].padEnd(7))} ${toSafeLine(name).padEnd(nameWidth)}  ${toSafeLine(detail)}`;
  return fix === undefined ? line : `${line}\n        fix: ${toSafeBlock(fix)}`;
}

const WORDS = { ok: 'ok', warning: 'warning', failed: 'FAILED', skipped: 'skipped' } as const;
const STYLES = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
