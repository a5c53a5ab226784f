import type {
  CursorCandidate,
  DiscoveredField,
  DiscoveredStream,
  KeyCandidate,
  ParamFinding,
} from '../model/discover-report.ts';
import type { Style, Screen } from './screen.ts';
import { formatCount } from '../text/format-count.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

const MOST_CURSORS = 2;
const MOST_MIXED = 5;

interface Line {
  readonly label: string;
  readonly text: string;
  /** The verdict that the text begins with, which sets its style. */
  readonly verdict?: ParamFinding['verdict'];
}

/** What the sample shows about keys, cursors and parameters, with the evidence; lines below the fields. */
export function describeEvidence(found: DiscoveredStream, screen: Screen): readonly string[] {
  const lines: readonly Line[] = [
    ...describeKeys(found),
    ...found.cursors.slice(0, MOST_CURSORS).map((cursor, at) => ({
      label: at === 0 ? 'cursor' : '',
      text: `${toSafeLine(cursor.field)}${describeRange(cursor)}`,
    })),
    ...describeParams(found.params),
    ...describeMixed(found.fields),
    ...(found.excluded.length === 0
      ? []
      : [{ label: 'excluded', text: `${found.excluded.map(toSafeLine).join(', ')}, as configured` }]),
    ...found.notes.map((note) => ({ label: 'note', text: toSafeLine(note) })),
  ];
  if (lines.length === 0) return [];
  const width = Math.max(...lines.map(({ label }) => label.length));
  return ['', ...lines.map((line) => drawLine(line, width, screen))];
}

const STYLES: Readonly<Record<ParamFinding['verdict'], Style>> = {
  honoured: 'green',
  ignored: 'yellow',
  refused: 'red',
  undecided: 'dim',
};

function drawLine({ label, text, verdict }: Line, width: number, { columns, paint }: Screen): string {
  const drawn = wrapText(`  ${label.padEnd(width)}  ${text}`, columns(), width + 4);
  return verdict === undefined
    ? drawn
    : drawn.replace(`  ${verdict}`, `  ${paint(STYLES[verdict], verdict)}`);
}

/** One line per parameter; those with the same result share one. */
function describeParams(params: readonly ParamFinding[]): readonly Line[] {
  const groups = new Map<string, ParamFinding[]>();
  for (const finding of params) {
    const text = `${finding.verdict}; ${joinEvidence(finding)}`;
    groups.set(text, [...(groups.get(text) ?? []), finding]);
  }
  return [...groups].flatMap(([text, [first, ...others]]) => {
    if (first === undefined) return [];
    const { param, verdict } = first;
    const names = others.map((one) => toSafeLine(one.param)).join(', ');
    const like = others.length === 0 ? '' : ` (as ${others.length === 1 ? 'is' : 'are'} ${names})`;
    return [{ label: toSafeLine(param), text: text.replace(verdict, () => `${verdict}${like}`), verdict }];
  });
}

// The label names the parameter already.
function joinEvidence({ param, evidence }: ParamFinding): string {
  return evidence
    .map((line) => toSafeLine(line.startsWith(`${param}=`) ? line.slice(param.length + 1) : line))
    .join('; ');
}

function describeKeys({ keys, sample }: DiscoveredStream): readonly Line[] {
  const proved = keys.filter(({ holds }) => holds);
  const refuted = keys.filter(({ holds }) => !holds);
  const [best, ...others] = proved;
  const against = refuted.map((key) => `${nameFields(key)} (${formatCount(key.distinct)})`).join(', ');
  if (best === undefined) {
    if ((sample?.records ?? 0) < 2) return [];
    return [
      {
        label: 'key',
        text: `no set of fields is unique in the sample${against === '' ? '' : `: ${against}`}`,
      },
    ];
  }
  const more = others.length === 0 ? '' : `; so do ${others.map(nameFields).join(' and ')}`;
  const evidence = `${formatCount(best.distinct)} distinct of ${formatCount(best.rows)} rows${more}`;
  const less = against === '' ? '' : `; not enough: ${against}`;
  return [{ label: 'key', text: `${nameFields(best)}: ${evidence}${less}` }];
}

function nameFields({ fields }: KeyCandidate): string {
  return fields.map(toSafeLine).join(' + ');
}

const ORDERS: Readonly<Record<CursorCandidate['order'], string>> = {
  ascending: ', oldest first',
  descending: ', newest first',
  mixed: ', in no order',
  equal: '',
};

function describeRange({ oldest, newest, order }: CursorCandidate): string {
  if (oldest === undefined || newest === undefined) return `: in every row${ORDERS[order]}`;
  const range = oldest === newest ? toSafeLine(oldest) : `${toSafeLine(oldest)} to ${toSafeLine(newest)}`;
  return `: ${range}, in every row${ORDERS[order]}`;
}

// Whole numbers among decimals are normal.
function toFamily(kind: string): string {
  return kind === 'integer' || kind === 'decimal' ? 'number' : kind;
}

// Fields of mixed types must be shown even if the table has no room for that column.
function describeMixed(fields: readonly DiscoveredField[]): readonly Line[] {
  const mixed = fields.filter(({ seen }) => new Set(seen.map(toFamily)).size > 1);
  const shown = mixed
    .slice(0, MOST_MIXED)
    .map(({ field, seen }) => `${toSafeLine(field)} holds ${seen.join(' and ')}`);
  if (shown.length === 0) return [];
  const more = mixed.length > shown.length ? `; and ${mixed.length - shown.length} more` : '';
  return [{ label: 'mixed', text: `${shown.join('; ')}${more}` }];
}
