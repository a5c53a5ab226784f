import type { CheckItem, CheckReport } from '../../model/reports.ts';
import { capitalize } from './format-values.ts';
import type { Terminal } from '../terminal/output.ts';
import { describeQuota } from './describe-run.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { withoutName } from '../../text/name-once.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** The result of `check` for people: one line per item, with a fix below where needed. */
export function renderCheck(report: CheckReport, terminal: Terminal, nowMs: number): string {
  const columns = terminal.columns();
  const quota = describeQuota(report.quota, nowMs);
  const spent = `${formatCountOf(report.requestsSpent, 'request')} used${quota === '' ? '' : `; ${quota}`}.`;
  return [
    renderItems(report.items, terminal),
    wrapText(`${capitalize(summarizeCheck(report))}. ${spent}`, columns),
  ].join('\n\n');
}

/** Items for people: one line each, with a fix below where needed. */
export function renderItems(items: readonly CheckItem[], terminal: Terminal): string {
  const nameWidth = Math.max(0, ...items.map(({ name }) => name.length));
  return items.map((item) => renderItem(item, nameWidth, terminal)).join('\n');
}

/** One sentence about a check. */
export function summarizeCheck({ items }: CheckReport): string {
  const failed = items.filter(({ status }) => status === 'failed').length;
  const warnings = items.filter(({ status }) => status === 'warning').length;
  if (failed === 0 && warnings === 0) return 'everything works';
  const aside = warnings === 0 ? '' : `, ${formatCountOf(warnings, 'warning')}`;
  return `${failed === 0 ? 'nothing' : formatCountOf(failed, 'check')} failed${aside}`;
}

function renderItem({ name, status, detail, fix }: CheckItem, nameWidth: number, terminal: Terminal): string {
  const { paint } = terminal;
  const style = STYLES[status];
  const label = `${paint(style, WORDS[status].padEnd(7))} ${toSafeLine(name).padEnd(nameWidth)}`;
  const line = wrapText(
    `${label}  ${toSafeLine(withoutName(detail, name))}`,
    terminal.columns(),
    nameWidth + 10,
  );
  return fix === undefined
    ? line
    : `${line}\n${wrapText(`        fix: ${toSafeBlock(fix)}`, terminal.columns())}`;
}

const WORDS = { ok: 'ok', warning: 'warning', failed: 'FAILED', skipped: 'skipped' } as const;
const STYLES = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;
