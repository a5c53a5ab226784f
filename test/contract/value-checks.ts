import { isDeepStrictEqual } from 'node:util';
import { splitPointer } from '../../src/json/pointer.ts';
import { streamConfigSchema } from '../../src/model/config.ts';
import type { PagingDescription } from '../../src/model/paging.ts';
import { pagingKinds } from '../../src/orders/orders.ts';
import { recordsOf } from './described-api.ts';
import { type ConnectorCheck, unless } from './connector-check.ts';

/** What can be said of a connector without a request. */
export const valueChecks: readonly ConnectorCheck[] = [
  {
    says: 'is plain values, the same after a trip through JSON',
    find: (connector) =>
      unless(
        isDeepStrictEqual(JSON.parse(JSON.stringify(connector)), connector),
        'it holds what JSON does not',
      ),
  },
  {
    says: 'has a name that config can give, and one for people',
    find: ({ name, title }) => [
      ...unless(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name), `name: ${name}`),
      ...unless(/\S/.test(title), 'title: empty'),
    ],
  },
  {
    says: 'names each stream once, as config could have written it',
    find: ({ streams }) => [
      ...unless(streams.length > 0, 'streams: none'),
      ...unless(new Set(streams.map(({ name }) => name)).size === streams.length, 'streams: a name twice'),
      ...streams.flatMap(({ name, path }) => [
        ...unless(/^[a-z_][a-z0-9_]{0,62}$/.test(name), `streams: the name ${name}`),
        ...unless(streamConfigSchema.safeParse({ path }).data?.path === path, `streams: the path ${path}`),
      ]),
    ],
  },
  {
    says: 'has the limits of the API',
    find: ({ limits }, api) =>
      unless(
        isDeepStrictEqual(limits, api.limits),
        `limits: ${JSON.stringify(limits)}, not ${JSON.stringify(api.limits)}`,
      ),
  },
  {
    says: 'names parameters that the API has',
    find: ({ filterParams, streams }, { params }) =>
      [...filterParams, ...streams.flatMap(({ startParam }) => startParam ?? [])].flatMap((param) =>
        unless(params.includes(param), `the API has no parameter ${param}`),
      ),
  },
  {
    says: 'points into the envelope with JSON pointers',
    find: ({ paging }) => [
      ...unless(pagingKinds.includes(paging.kind), `paging: kind ${paging.kind}`),
      ...listPointers(paging).flatMap(([name, pointer]) =>
        unless(/^\/./.test(pointer), `paging: ${name} ${pointer}`),
      ),
    ],
  },
  {
    says: 'finds in an answer what its pointers name',
    find: ({ paging, streams }, api) =>
      streams
        .filter(({ paginated }) => paginated)
        .flatMap(({ path }) => {
          const url = new URL(`${api.baseUrl}/${path}?${paging.limitParam}=10`);
          const page = api.answer({ path, url, query: url.searchParams, records: recordsOf(api, path) });
          return listPointers(paging).flatMap(([name, pointer]) =>
            unless(isThere(page, pointer), `paging: ${name}: ${path} has no ${pointer}`),
          );
        }),
  },
  {
    says: 'knows how a base URL ends',
    find: ({ versionSegment }, { baseUrl }) =>
      unless(
        baseUrl.endsWith(`/${versionSegment}`),
        `versionSegment: ${versionSegment}, not as in ${baseUrl}`,
      ),
  },
  {
    says: 'tells what a person needs when a key is refused',
    find: ({ auth: { rejectionCauses, whereKeysAreMade } }) => [
      ...unless(rejectionCauses.length > 0, 'auth: no rejectionCauses'),
      ...unless(/\w{3}/.test(whereKeysAreMade), 'auth: nothing in whereKeysAreMade'),
    ],
  },
];

function listPointers(paging: PagingDescription): readonly (readonly [string, string])[] {
  return Object.entries({ ...paging })
    .filter(([name]) => !/^kind$|^firstPage$|^namesRecord$|Params?$|Header$/.test(name))
    .map(([name, pointer]) => [name, String(pointer)] as const);
}

function isThere(document: unknown, pointer: string): boolean {
  const found = splitPointer(pointer).reduce<unknown>(
    (value, part) => (value as Readonly<Record<string, unknown>> | undefined)?.[part],
    document,
  );
  return found !== undefined && found !== null;
}
