import type { CheckItem, CheckReport } from '../model/reports.ts';
import { capitalize } from './format-values.ts';
import type { Screen } from './screen.ts';
import { describeQuota } from './describe-run.ts';
import { formatCountOf } from '../text/format-count.ts';
import { withoutName } from '../text/name-once.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** The result of `check` for people: one line per item, with a fix below where needed. */
export function renderCheck(report: CheckReport, screen: Screen, nowMs: number): string {
  const columns = screen.columns();
  const quota = describeQuota(report.quota, nowMs);
  const spent = `${formatCountOf(report.requestsSpent, 'request')} used${quota === '' ? '' : `; ${quota}`}.`;
  return [
    renderItems(report.items, screen),
    wrapText(`${capitalize(summarizeCheck(report))}. ${spent}`, columns),
  ].join('\n\n');
}

/** Items for people: one line each, with a fix below where needed. */
export function renderItems(items: readonly CheckItem[], screen: Screen): string {
  const nameWidth = Math.max(0, ...items.map(({ name }) => name.length));
  return items.map((item) => renderItem(item, nameWidth, screen)).join('\n');
}

/** One sentence about a check. */
export function summarizeCheck({ items }: CheckReport): string {
  const failed = items.filter(({ status }) => status === 'failed').length;
  const warnings = items.filter(({ status }) => status === 'warning').length;
  if (failed === 0 && warnings === 0) return 'everything works';
  const aside = warnings === 0 ? '' : `, ${formatCountOf(warnings, 'warning')}`;
  return `${failed === 0 ? 'nothing' : formatCountOf(failed, 'check')} failed${aside}`;
}

function renderItem({ name, status, detail, fix }: CheckItem, nameWidth: number, screen: Screen): string {
  const { paint } = screen;
  const style = STYLES[status];
  const label = `${paint(style, WORDS[status].padEnd(7))} ${toSafeLine(name).padEnd(nameWidth)}`;
  const line = wrapText(
    `${label}  ${toSafeLine(withoutName(detail, name))}`,
    screen.columns(),
    nameWidth + 10,
  );
  return fix === undefined
    ? line
    : `${line}\n${wrapText(`        fix: ${toSafeBlock(fix)}`, screen.columns())}`;
}

const WORDS = { ok: 'ok', warning: 'warning', failed: 'FAILED', skipped: 'skipped' } as const;
const STYLES = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;
