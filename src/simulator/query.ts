import { ApiProblem } from './api-problem.ts';
import type { EndpointOptions, RecordFilter } from './endpoint.ts';
import { isIsoDay } from './iso-day.ts';

/** A page as asked for. */
export interface PageQuery {
  readonly limit: number;
  readonly offset: number;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

/** Which fields each filter parameter is compared with. */
const FILTER_FIELDS: Readonly<Record<string, readonly string[]>> = {
  entity: ['entity'],
  topicIds: ['topicId'],
  topics: ['topicName', 'topicId'],
  providers: ['provider'],
  regions: ['region'],
};

const ISO_TIME = /^T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;

/** Reads `limit` and `offset`; throws a validation problem that names the wrong one. */
export function readPageQuery(
  query: URLSearchParams,
  endpoint: EndpointOptions,
  limitTooHigh: 'reject' | 'cap',
): PageQuery {
  const maxLimit = endpoint.maxLimit ?? MAX_LIMIT;
  const limit = readWholeNumber(query, 'limit', endpoint.defaultLimit ?? DEFAULT_LIMIT);
  if (limit < 1) throw invalid('limit', 'must be at least 1');
  if (limit > maxLimit && limitTooHigh === 'reject') throw invalid('limit', `must be at most ${maxLimit}`);
  return { limit: Math.min(limit, maxLimit), offset: readWholeNumber(query, 'offset', 0) };
}

/** Reads the filters; undefined when nothing is narrowed. Throws the problem of a wrong or missing one. */
export function readFilter(query: URLSearchParams, endpoint: EndpointOptions): RecordFilter | undefined {
  for (const name of endpoint.requiredParams ?? []) {
    if (!query.has(name)) throw invalid(name, 'is required');
  }
  const startDay = readStartDay(query, endpoint);
  const filterFields = { ...FILTER_FIELDS, ...endpoint.filters };
  const wanted = Object.keys(filterFields)
    .map((name) => ({ name, values: readValues(query, name) }))
    .filter(({ values }) => values.length > 0);
  assertTopicsExist(wanted.find(({ name }) => name === 'topicIds')?.values ?? [], endpoint);
  if (startDay === undefined && wanted.length === 0) return undefined;

  const dateField = endpoint.dateField ?? '';
  return {
    name: JSON.stringify([startDay, wanted]),
    accepts(fields) {
      // Dates and timestamps of ISO form sort as text.
      if (startDay !== undefined && String(fields[dateField]).slice(0, 10) < startDay) return false;
      return wanted.every(({ name, values }) => matches(fields, filterFields[name] ?? [], values));
    },
  };
}

/** A parameter that an endpoint's records have no field for narrows nothing. */
function matches(
  record: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  values: readonly string[],
): boolean {
  const present = fields.filter((field) => field in record);
  return present.length === 0 || present.some((field) => values.includes(String(record[field])));
}

function readStartDay(query: URLSearchParams, endpoint: EndpointOptions): string | undefined {
  const text = query.get('startDate');
  if (text === null || endpoint.dateField === undefined) return undefined;
  const time = text.slice(10);
  if (!isIsoDay(text.slice(0, 10)) || (time !== '' && !ISO_TIME.test(time))) {
    throw invalid('startDate', 'must be an ISO 8601 date such as 2026-01-31');
  }
  return text.slice(0, 10);
}

function readValues(query: URLSearchParams, name: string): readonly string[] {
  const values = query.getAll(name).flatMap((value) => value.split(','));
  if (values.includes('')) throw invalid(name, 'must not be empty');
  return values;
}

function assertTopicsExist(topicIds: readonly string[], endpoint: EndpointOptions): void {
  const unknown = topicIds.find((topicId) => endpoint.topicIds?.includes(topicId) === false);
  if (unknown !== undefined) throw new ApiProblem(404, 'NOT_FOUND', `Unknown topic ID: ${unknown}`);
}

function readWholeNumber(query: URLSearchParams, name: string, whenMissing: number): number {
  const text = query.get(name);
  if (text === null) return whenMissing;
  if (!/^\d{1,15}$/.test(text)) throw invalid(name, 'must be a whole number of 0 or more');
  return Number(text);
}

function invalid(name: string, rule: string): ApiProblem {
  return new ApiProblem(400, 'VALIDATION_ERROR', `Invalid parameter: ${name} ${rule}.`);
}
