import { createHash } from 'node:crypto';
import type { Stream } from '../model/stream.ts';

/** What shapes a stream's requests and its table; freshness and lookback do not. */
export type FingerprintParts = Pick<
  Stream,
  'path' | 'paginated' | 'recordsPointer' | 'params' | 'pageSize' | 'key' | 'cursor' | 'write'
> & {
  readonly columns: Readonly<Record<string, object>>;
  readonly sliceBy: readonly string[];
  readonly arrayParams: 'comma' | 'repeat';
};

/** A short hash that changes when, and only when, one of the parts means something else. */
export function buildFingerprint(parts: FingerprintParts): string {
  // Numbers and text make the same query: `limit: 5` and `limit: "5"` are one request.
  const params = Object.fromEntries(
    Object.entries(parts.params).map(([name, value]) => [name, [value].flat().map(String)]),
  );
  const { path, paginated, recordsPointer, pageSize, key, cursor, write, columns, sliceBy, arrayParams } =
    parts;
  const canonical = toCanonicalJson({
    path,
    paginated,
    recordsPointer,
    pageSize,
    key,
    cursor,
    write,
    columns,
    sliceBy,
    arrayParams,
    params,
  });
  return createHash('sha256').update(canonical).digest('hex').slice(0, 16);
}

/** A short hash of the settings that decide what happens to received records and rows. */
export function hashRules({
  contract,
  deletes,
  history,
  maxDeleteRatio,
  maxInvalidRatio,
}: Pick<Stream, 'contract' | 'deletes' | 'history' | 'maxDeleteRatio' | 'maxInvalidRatio'>): string {
  const { columns, types, schema } = contract;
  const parts = { columns, types, schema: schema?.json, deletes, history, maxDeleteRatio, maxInvalidRatio };
  return createHash('sha256').update(toCanonicalJson(parts)).digest('hex').slice(0, 16);
}

function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
