import type { StreamConfig } from '../model/config.ts';
import type { ParamValue, Stream, StreamSlice } from '../model/stream.ts';
import type { Problem } from './problem.ts';

// Each slice is a scan with its own checkpoint: more than this must be a mistake in the lists.
const MOST_SLICES = 10_000;

/** One slice for each combination of the listed parameters' values; none without `sliceBy`. */
export function listSlices(
  params: Stream['params'],
  sliceBy: readonly string[],
): readonly Omit<StreamSlice, 'fingerprint'>[] {
  if (sliceBy.length === 0) return [];
  const combinations = sliceBy.reduce<readonly Readonly<Record<string, ParamValue>>[]>(
    (found, name) =>
      found.flatMap((values) => listValues(params[name]).map((value) => ({ ...values, [name]: value }))),
    [{}],
  );
  return combinations.map((values) => ({
    id: nameSlice(values),
    values,
    params: { ...params, ...values },
  }));
}

/** What is wrong with a stream's `sliceBy`. */
export function findSliceProblems(name: string, stream: StreamConfig): readonly Problem[] {
  const { sliceBy = [], params = {} } = stream;
  const path = ['streams', name, 'sliceBy'];
  const missing = sliceBy.filter((param) => !Object.hasOwn(params, param));
  if (missing.length > 0) {
    return missing.map((param) => ({
      path,
      message: `names "${param}", which params does not list; add it, e.g. params: { ${param}: [acme, globex] }`,
    }));
  }
  const repeated = sliceBy.filter((param) => {
    const texts = listValues(params[param]).map(String);
    return new Set(texts).size < texts.length;
  });
  if (repeated.length > 0)
    return [{ path: ['streams', name, 'params', ...repeated.slice(0, 1)], message: 'lists a value twice' }];
  const count = sliceBy.reduce((product, param) => product * listValues(params[param]).length, 1);
  return count > MOST_SLICES
    ? [{ path, message: `makes ${count} slices; at most ${MOST_SLICES} are allowed` }]
    : [];
}

function listValues(value: ParamValue | readonly ParamValue[] | undefined): readonly ParamValue[] {
  return value === undefined ? [] : [value].flat();
}

/** Encoded as in a query, so that two slices never have the same name. */
function nameSlice(values: Readonly<Record<string, ParamValue>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) search.set(name, String(value));
  return search.toString();
}
