import type { EndpointOptions, RecordTable } from './endpoint.ts';
import type { Envelope, FaultOverride, PageWindow } from './faults.ts';
import { readFilter, readPageQuery } from './query.ts';
import { RawJson, writeJson } from './raw-json.ts';

/** A path's description and its records. */
export interface Endpoint {
  readonly options: EndpointOptions;
  readonly table: RecordTable;
}

/** What an answer depends on, in addition to the endpoint. */
export interface AnswerRequest {
  readonly query: URLSearchParams;
  readonly day: string;
  readonly limitTooHigh: 'reject' | 'cap';
  /** Faults that change a successful answer. */
  readonly rewrite: Pick<FaultOverride, 'page' | 'envelope'>;
}

/** The body of a successful answer; throws the problem of a wrong query. */
export function writeAnswer(endpoint: Endpoint, request: AnswerRequest): string {
  return endpoint.options.paginated ? writePage(endpoint, request) : writeDataset(endpoint, request);
}

function writeDataset({ options, table }: Endpoint, { query, day, rewrite }: AnswerRequest): string {
  const filter = readFilter(query, options);
  if (rewrite.envelope !== undefined)
    return rewriteEnvelope(table.slice(day, filter, 0, Infinity).texts, {}, rewrite.envelope);
  const { shape = 'data' } = options;
  if (shape === 'object') return table.slice(day, filter, 0, 1).texts[0] ?? '{}';
  const array = table.array(day, filter);
  if (shape === 'array') return array;
  return `{${JSON.stringify(shape === 'data' ? 'data' : shape.member)}:${array}}`;
}

function writePage({ options, table }: Endpoint, request: AnswerRequest): string {
  const { query, day, limitTooHigh, rewrite } = request;
  const filter = readFilter(query, options);
  const { offset, limit } = readPageQuery(query, options, limitTooHigh);
  const asked: PageWindow = { offset, limit, echoedOffset: offset, echoedLimit: limit };
  const served = rewrite.page?.(asked) ?? asked;
  const { texts, total } = table.slice(day, filter, served.offset, served.limit);
  const pagination = {
    total,
    limit: served.echoedLimit,
    offset: served.echoedOffset,
    hasMore: served.offset + texts.length < total,
  };
  if (rewrite.envelope !== undefined) return rewriteEnvelope(texts, { pagination }, rewrite.envelope);
  return `{"data":[${texts.join(',')}],"pagination":${JSON.stringify(pagination)}}`;
}

function rewriteEnvelope(
  texts: readonly string[],
  rest: Omit<Envelope, 'data'>,
  rewrite: (envelope: Envelope) => unknown,
): string {
  return writeJson(rewrite({ data: texts.map((text) => new RawJson(text)), ...rest }));
}
