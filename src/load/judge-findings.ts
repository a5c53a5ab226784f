import { KEYLESS } from '../contract/accept-record.ts';
import type { ViolationCount, ViolationCounts } from '../contract/violation-counts.ts';
import { ContractError, ResponseError } from '../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { escapeForTerminal } from '../text/redact.ts';
import { nameOf, type Stream } from '../model/stream.ts';
import type { RejectedRecords } from '../warehouse/rejected-records.ts';
import type { ContractFindings, CheckedScan } from './check-contract.ts';

// A message is read in a terminal; `quarantine list` and the file have the rest.
const MOST_NAMED = 5;

/** Fails a stream whose records violate a frozen contract (`freeze`). */
export function assertContractKept(stream: Stream, { failing }: ContractFindings): void {
  const [first] = failing.list();
  if (first === undefined) return;
  throw new ContractError(
    `${nameOf(stream)}: ${formatCountOf(failing.records, 'record')} ${verbOf(failing.records, 'breaks', 'break')} the contract: ${describeCounts(failing)}; the first at position ${first.firstPosition}`,
    {
      code: 'contract_broken',
      hint: `The table is unchanged. Ask the provider to fix the source; or ${adviseToAllow(stream, failing)}; or set streams.${stream.name}.contract to evolve, discard_row or discard_value.`,
      context: { stream: stream.name, offset: first.firstPosition },
    },
  );
}

/** Fails a stream if more than `maxInvalidRatio` of it would go to quarantine. */
export function refuseTooManyRejects(
  stream: Stream,
  rows: number,
  rejected: RejectedRecords,
  { rejected: counts }: ContractFindings,
): void {
  const { count, first } = rejected;
  if (first === undefined || count / Math.max(rows, 1) <= stream.maxInvalidRatio) return;
  const context = { stream: stream.name, offset: first.position };
  const advice = adviseOn(stream, counts);
  if (isKeyless(counts)) {
    const fields = counts
      .list()
      .map(({ field }) => field)
      .join(', ');
    throw new ResponseError(
      `${nameOf(stream)}: ${formatCountOf(count, 'record')} ${verbOf(count, 'has', 'have')} no value for the key (${escapeForTerminal(fields)}), the first at position ${first.position}`,
      {
        code: 'response_invalid',
        hint: `The table is unchanged. More than maxInvalidRatio (${stream.maxInvalidRatio}) of the records would go to quarantine: ${advice}.`,
        context,
      },
    );
  }
  if (!breaksContract(counts)) {
    throw new ResponseError(
      `${nameOf(stream)}: ${formatCount(count)} of ${formatCountOf(rows, 'record')} ${verbOf(count, 'is not a JSON object', 'are not JSON objects')}, the first at position ${first.position}`,
      {
        code: 'response_invalid',
        hint: `The table is unchanged. More than maxInvalidRatio (${stream.maxInvalidRatio}) of the records cannot be rows: ${advice}.`,
        context,
      },
    );
  }
  throw new ContractError(
    `${nameOf(stream)}: ${formatCount(count)} of ${formatCountOf(rows, 'record')} ${verbOf(count, 'breaks', 'break')} the contract: ${describeCounts(counts)}; the first at position ${first.position}`,
    {
      code: 'contract_broken',
      hint: `The table is unchanged. More than maxInvalidRatio (${stream.maxInvalidRatio}) would go to quarantine: ${advice}, or raise streams.${stream.name}.maxInvalidRatio.`,
      context,
    },
  );
}

/**
 * Fails a stream if more than `maxInvalidRatio` of its records would lose values: then the contract is probably
 * wrong.
 */
export function refuseTooManyDiscards(stream: Stream, rows: number, { lost }: ContractFindings): void {
  const [first] = lost.list();
  if (first === undefined || lost.records / Math.max(rows, 1) <= stream.maxInvalidRatio) return;
  throw new ContractError(
    `${nameOf(stream)}: ${formatCount(lost.records)} of ${formatCountOf(rows, 'record')} would lose values: ${describeCounts(lost)}; the first at position ${first.firstPosition}`,
    {
      code: 'contract_broken',
      hint: `The table is unchanged. More than maxInvalidRatio (${stream.maxInvalidRatio}) of the records are affected: ask the provider to fix the source, or ${adviseToAllow(stream, lost)}, or raise streams.${stream.name}.maxInvalidRatio.`,
      context: { stream: stream.name, offset: first.firstPosition },
    },
  );
}

/** Warnings about a scan that passed its contract. */
export function describeFindings(rejected: RejectedRecords, held: CheckedScan): readonly string[] {
  const { findings } = held;
  return [
    ...(rejected.count === 0 ? [] : [describeRejected(rejected, findings.rejected)]),
    ...(findings.discarded.records === 0
      ? []
      : [
          `values were left out of ${formatCountOf(findings.discarded.records, 'record')}: ${describeCounts(findings.discarded)}`,
        ]),
  ];
}

/** What a sync would do with a sample of these many records, as sentences; empty where it would keep them as they are. */
export function describeSample(
  stream: Stream,
  rows: number,
  { failing, rejected, discarded }: ContractFindings,
): readonly string[] {
  const of = (records: number) =>
    `${formatCount(records)} of ${formatCountOf(rows, 'record')} on the first page`;
  const { maxInvalidRatio, name } = stream;
  const most = `if more than streams.${name}.maxInvalidRatio (${maxInvalidRatio}) of all records do, the stream fails`;
  return [
    { counts: failing, what: `${of(failing.records)} would fail the stream` },
    { counts: rejected, what: `${of(rejected.records)} would go to quarantine (${most})` },
    { counts: discarded, what: `values would be left out of ${of(discarded.records)}` },
  ]
    .filter(({ counts }) => counts.records > 0)
    .map(({ counts, what }) => `${what}: ${describeCounts(counts)}; ${adviseOn(stream, counts)}`);
}

/** What to do about records that a stream cannot keep, as the rest of a sentence. */
function adviseOn(stream: Stream, counts: ViolationCounts): string {
  const { name } = stream;
  if (isKeyless(counts)) return `name fields that every record has as streams.${name}.key, or set it to auto`;
  if (!breaksContract(counts)) return `check streams.${name}.records and the path`;
  return `ask the provider to fix the source, or ${adviseToAllow(stream, counts)}`;
}

/** Whether all that records lack is a value for the key. */
function isKeyless(counts: ViolationCounts): boolean {
  return counts.records > 0 && counts.list().every(({ reason }) => reason === KEYLESS);
}

function describeRejected({ count }: RejectedRecords, counts: ViolationCounts): string {
  if (!breaksContract(counts))
    return `${formatCountOf(count, 'record')} ${verbOf(count, 'is not a JSON object', 'are not JSON objects')} and went to _sluice.quarantine`;
  return `${formatCountOf(count, 'record')} went to _sluice.quarantine: ${describeCounts(counts)}`;
}

/** Whether any record was rejected for a reason other than not being an object. */
function breaksContract(counts: ViolationCounts): boolean {
  return counts.list().some(({ field }) => field !== '');
}

function describeCounts(counts: ViolationCounts): string {
  const all = counts.list();
  const named = all.slice(0, MOST_NAMED).map(describeCount);
  const more = all.length - named.length;
  if (more > 0 || counts.hasMore) named.push(`${more > 0 ? more : 'and'} more`);
  return named.join('; ');
}

function describeCount({ field, reason, count }: ViolationCount): string {
  const what =
    field === '' ? reason : `${escapeForTerminal(field.slice(0, 100))} ${escapeForTerminal(reason)}`;
  return `${what} (${count})`;
}

/** Where a rule stands that records break: in the contract file, or in the types that the config gives columns. */
function adviseToAllow({ name }: Stream, counts: ViolationCounts): string {
  const forced = new Set(counts.list().flatMap(({ kind, field }) => (kind === 'forced' ? field : [])));
  // Relative to the folder of the config if it lies below it.
  const inFile = counts.list().some(({ kind }) => kind !== 'forced')
    ? [`allow it in contracts/${name}.schema.json`]
    : [];
  const inConfig = [...forced]
    .slice(0, MOST_NAMED)
    .map((field) => `change streams.${name}.columns.${escapeForTerminal(field.slice(0, 100))}.type`);
  return [...inFile, ...inConfig].join(', or ');
}
