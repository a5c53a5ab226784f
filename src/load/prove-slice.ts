import { readCheckpoints } from '../../state/checkpoints.ts';
import { StreamConfigError } from '../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { type Checkpoint, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { countSharedRows, type SharedRows } from '../warehouse/shared-rows.ts';
import { findAnswerAlike } from '../read/ask-other-slice.ts';
import { isAnySliceRead } from '../plan/slices-read.ts';
import type { Comparing } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import {
  areContradicted,
  areProved,
  type CarriedFields,
  type OwnValues,
  readOwnValues,
} from './own-values.ts';

/** A scan of one slice with its rows in the incoming table. */
export interface SliceQuestion {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly load: PreparedLoad;
  readonly checkpoint: Checkpoint | undefined;
  readonly carried: CarriedFields;
}

/**
 * Checks that the API filters a slice by its parameters, before its rows are loaded: by the values of the records or,
 * for a first scan and if other slices have the same rows, by requesting a nonexistent value. Throws
 * `filter_ignored`. If the filter works but records have another slice's value, the scan is `unverified`.
 */
export async function proveSlice(context: Comparing, question: SliceQuestion): Promise<FetchedScan> {
  const { stream, scan, load, carried } = question;
  if (stream.slice === undefined || scan.rows === 0) return scan;
  const { database, settings } = context;
  const values = await readOwnValues(database, { stream, hashKey: settings.hashKey }, load.columns, carried);
  const silent = values.filter((one) => !areProved(one) && !areContradicted(one));
  const contradicted = values.filter(areContradicted);
  const doubt = silent.length === 0 ? 'none' : await findDoubt(context, question);
  const asked = [...contradicted, ...(doubt === 'none' ? [] : silent)];
  if (asked.length === 0) return scan;
  const alike = await findAnswerAlike(context, question, {
    params: asked.map(({ param }) => param),
    asksOthers: contradicted.length > 0 ? 'always' : doubt === 'same' ? 'if-refused' : 'never',
  });
  if (alike !== undefined) throw describeIgnored(stream, alike, contradicted);
  const foreign = contradicted.find((one) => one.foreign > 0);
  if (foreign === undefined || scan.verdict !== 'verified') return scan;
  return { ...scan, verdict: 'unverified', reasons: [describeForeign(foreign), ...scan.reasons] };
}

/**
 * `first`: nothing is known about the slice's filter yet. `shared`: some rows are in other slices as well; `same`:
 * all of them.
 */
type Doubt = 'none' | 'first' | 'shared' | 'same';

async function findDoubt(context: Comparing, { stream, load, checkpoint }: SliceQuestion): Promise<Doubt> {
  const { database } = context;
  const isProved = checkpoint?.lastFullScanAt !== undefined && checkpoint.fingerprint === stream.fingerprint;
  const filledIn = new Set(Object.keys(stream.slice?.values ?? {}));
  const columns = load.columns.filter(({ name, type }) => type !== 'NULL' && !filledIn.has(name));
  const question = {
    table: stream.table,
    slice: sliceIdOf(stream),
    isWhole: !isProved,
    readBefore: isProved ? findDaysRead(load, checkpoint) : undefined,
  };
  const look = (compared: typeof columns) =>
    load.tableExisted ? countSharedRows(database, { ...question, columns: compared }) : undefined;
  const equal = await look(columns);
  if (equal !== undefined && areMost(equal)) return equal.shared * 10 >= equal.looked * 9 ? 'same' : 'shared';
  // Rows of days that were read before do not change their slice by themselves.
  if (isProved) return (equal?.newcomers ?? 0) > 0 ? 'shared' : 'none';
  if ((equal?.shared ?? 0) > 0 || !isAnySliceRead(stream, await readCheckpoints(database))) return 'first';
  // Rows restated in the meantime are only equal by key.
  const key = load.key?.columns ?? [];
  const alike = key.length === 0 ? undefined : await look(columns.filter(({ name }) => key.includes(name)));
  return (alike?.shared ?? 0) > 0 ? 'first' : 'none';
}

/** The days that a slice has in full: those before its watermark. */
function findDaysRead(
  { cursorColumn: column }: PreparedLoad,
  checkpoint: Checkpoint | undefined,
): { readonly column: string; readonly date: string } | undefined {
  const date = checkpoint?.watermark;
  return column === undefined || date === undefined ? undefined : { column, date };
}

function areMost({ looked, shared, holdsMost }: SharedRows): boolean {
  return looked > 0 && (shared * 2 >= looked || holdsMost);
}

function describeIgnored(
  stream: Stream,
  alike: { readonly params: readonly string[]; readonly because: string },
  contradicted: readonly OwnValues[],
): StreamConfigError {
  const { name, slice } = stream;
  const asked = alike.params.map((param) => `${param}=${String(slice?.values[param])}`).join('&');
  const [first] = contradicted;
  const evidence = first === undefined ? '' : `; ${describeContradiction(first)}`;
  const params = alike.params.join(' and ');
  return new StreamConfigError(
    `${nameOf(stream)}: the API does not filter by ${asked}: ${alike.because}${evidence}`,
    {
      code: 'filter_ignored',
      hint: `Nothing of this slice was loaded. Check the names and values of ${params} in the API (sluice discover ${name}), or leave ${params} out of streams.${name}.sliceBy and params: one scan then reads every row once.`,
      context: { stream: name },
    },
  );
}

function describeContradiction({ field = '', records, own, foreign, other }: OwnValues): string {
  const wrong = foreign + other;
  const others = own > 0 ? `, ${formatCount(own)} the one asked for` : '';
  return `${formatCount(wrong)} of ${formatCountOf(records, 'record')} ${verbOf(wrong, 'has', 'have')} a different ${field}${others}`;
}

function describeForeign({ field = '', records, foreign }: OwnValues): string {
  return `${formatCount(foreign)} of ${formatCountOf(records, 'record')} ${verbOf(foreign, 'has', 'have')} the ${field} of another slice`;
}
