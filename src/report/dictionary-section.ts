import type { DictionaryTable } from '../model/dictionary.ts';
import type { RecordedChange } from '../model/schema-report.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { formatMoment, formatShare, formatShortMoment } from './format-values.ts';
import type { JoinedColumn, JoinedTable } from './join-dictionaries.ts';
import { html, type Markup, nameText, type Part } from './markup.ts';
import { type Column, drawTable } from './section.ts';

const MOST_ACCOUNTS = 8;
const PARTS = 1_000;

const OWN: Readonly<Record<string, string>> = {
  _run_id: 'The run that last changed the row, as in _sluice.runs.',
  _synced_at: 'When that run changed the row.',
  _deleted_at: 'When the row was found to be missing in the API; NULL for a live row.',
  _slice: 'The slice of the stream that the row belongs to.',
  _valid_from: 'When this version of the row was first seen.',
  _valid_to: 'When the next version was seen; NULL for the current one.',
};

/** What a table is: in words, by column, and how it changed. */
export function drawDictionaryTable(joined: JoinedTable, accounts: number): Markup {
  const { table, columns } = joined;
  const changes = joined.parts.length === 1 ? table.changes : [];
  return html`${table.description !== undefined && html`<p>${table.description}</p>`}
    <p class="remark">${describeTable(joined, accounts)}</p>
    ${drawTable(`Columns of ${table.table}`, listColumns(joined, accounts), columns)}
    ${changes.length > 0 && drawChanges(changes, table.moreChanges)}`;
}

function describeTable({ table, parts }: JoinedTable, accounts: number): readonly Part[] {
  const rows = parts.reduce<number | undefined>(
    (sum, one) => (sum === undefined || one.table.rows === undefined ? undefined : sum + one.table.rows),
    0,
  );
  const { stream, path, holds, excluded, contractFile, verifiedWholeAt } = table;
  const sentences: Part[] = [
    holds === 'versions'
      ? html`Versions of the rows of ${nameText(stream)}, each from <code>_valid_from</code> until before
          <code>_valid_to</code>. `
      : html`Stream ${nameText(stream)}, read from <code>${path}</code>. ${describeKey(table)} `,
    rows === undefined ? '' : `${formatCountOf(rows, 'row')}. `,
    parts.length === 1 && holds === 'rows'
      ? verifiedWholeAt === undefined
        ? 'No scan of the whole stream was verified yet. '
        : `The whole stream was read and verified on ${formatMoment(verifiedWholeAt)}. `
      : '',
    excluded.length === 0 ? '' : `The config leaves out: ${listNames(excluded)}. `,
    contractFile === undefined ? '' : `Described in ${contractFile}. `,
    accounts > parts.length
      ? `Of ${describeAccounts(
          parts.map(({ account }) => account),
          accounts,
        )}.`
      : '',
  ];
  return sentences;
}

function describeKey({ key }: DictionaryTable): Part {
  if (key === undefined) return 'It has no key.';
  const names = key.columns.map((name, at) => html`${at > 0 && ', '}<code>${nameText(name)}</code>`);
  const origin =
    key.origin === 'config'
      ? 'set in the config'
      : `learned from the data${key.isProved ? '' : ', not proved yet'}`;
  return html`One row per ${names}; the key was ${origin}.`;
}

function listColumns({ table, parts }: JoinedTable, accounts: number): readonly Column<JoinedColumn>[] {
  const isCounted = Object.keys(table.nullShares).length > 0;
  return [
    {
      head: 'Column',
      cell: ({ column, isInKey }) =>
        html`<code>${nameText(column.name)}</code
          >${isInKey && table.holds === 'rows' && html` <span class="badge">key</span>`}`,
    },
    {
      head: 'Type',
      cell: ({ column, types }) =>
        html`${types.join(', ')}${column.evidence !== undefined && !column.isHashed && html` <span class="aside">${column.evidence}</span>`}`,
    },
    { head: 'What it is', cell: ({ column }) => describeColumn(column) },
    ...(isCounted
      ? [{ head: 'Empty', isNumber: true, cell: ({ empty }: JoinedColumn) => describeEmpty(empty) }]
      : []),
    ...(accounts > 1
      ? [
          {
            head: 'Accounts',
            cell: (column: JoinedColumn) => describeAccounts(column.accounts, parts.length),
          },
        ]
      : []),
  ];
}

function describeColumn(column: JoinedColumn['column']): readonly Part[] {
  const { name, field, companionOf, description, unit, isHashed, absentSince } = column;
  const own = field === undefined ? (OWN[name] ?? '') : '';
  const about: readonly Part[] = [
    companionOf !== undefined &&
      html`Values that <code>${nameText(companionOf)}</code> cannot hold, as text. `,
    field !== undefined && html`Field <bdi>${field}</bdi>. `,
    isHashed && 'Keyed hashes in place of its values. ',
    absentSince !== undefined && html`No record has it since run <bdi>${absentSince}</bdi>.`,
  ];
  return [
    description ?? own,
    unit !== undefined && html` <b>${unit}</b>`,
    about.some((part) => part !== false) && html` <span class="aside">${about}</span>`,
  ];
}

function describeEmpty(empty: JoinedColumn['empty']): string {
  if (empty === undefined) return '';
  const [least, most] = empty.map((share) => formatShare(Math.round(share * PARTS), PARTS));
  // A share that rounds to nothing still means that some row has no value.
  if (empty[1] > 0 && Math.round(empty[1] * PARTS) === 0) return 'hardly ever';
  return empty[1] === 0 ? 'never' : least === most ? (most ?? '') : `${least ?? ''} to ${most ?? ''}`;
}

function describeAccounts(accounts: readonly string[], of: number): string {
  if (accounts.length === of) return 'all';
  const shown = accounts.slice(0, MOST_ACCOUNTS);
  const more = accounts.length - shown.length;
  return `${formatCount(accounts.length)} of ${formatCount(of)}: ${listNames(shown)}${more > 0 ? ` and ${formatCount(more)} more` : ''}`;
}

function drawChanges(changes: readonly RecordedChange[], more: number): Markup {
  return html`<details class="more">
    <summary>${formatCountOf(changes.length + more, 'change')} of its columns</summary>
    ${drawTable(
      'The newest changes',
      [
        { head: 'Column', cell: ({ column }) => html`<code>${nameText(column)}</code>` },
        { head: 'Change', cell: describeChange },
        { head: 'When', cell: ({ changedAt }) => html`<time>${formatShortMoment(changedAt)}</time>` },
        { head: 'Run', cell: ({ runId }) => html`<bdi>${runId}</bdi>` },
      ],
      changes,
    )}
    ${more > 0 && html`<p class="remark">Older changes are in <code>_sluice.schema_changes</code>.</p>`}
  </details>`;
}

function describeChange({ change, fromType, toType }: RecordedChange): string {
  if (change === 'added') return `added as ${toType ?? 'none'}`;
  return change === 'removed' ? change : `${change}: ${fromType ?? 'none'} to ${toType ?? 'none'}`;
}
