import { isDeepStrictEqual } from 'node:util';
import type { Connector } from '../../src/model/connector.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { START_MS } from '../support/sync-harness.ts';
import { type ConnectorCheck, type Problems, unless } from './connector-check.ts';
import { createProject, type Project } from './connector-project.ts';
import type { DescribedApi } from './described-api.ts';
import { KEY, windowOf } from './stand-in-api.ts';

/** What syncs of the API show: they are complete, repeatable, resumable and within the limits. */
export const syncChecks: readonly ConnectorCheck[] = [
  {
    says: 'brings every record of every stream once, with the key in its header alone',
    async find(connector, api) {
      const project = createProject(connector, api);
      const report = await project.sync();
      const { limitParam } = connector.paging;
      return [
        ...findEndProblems(report, 0),
        ...(await findDataProblems(connector, api, project, report)),
        ...unless(report.warnings.length === 0, `warnings: ${report.warnings.join(', ')}`),
        ...unless(project.server.refused === 0, `${project.server.refused} requests beyond a limit`),
        ...project.server.requests.flatMap(({ url }) => [
          ...unless(!url.href.includes(KEY), 'the key is in a URL'),
          ...unless(
            Number(url.searchParams.get(limitParam) ?? 0) <= api.limits.maxPageSize,
            `a page of ${url.searchParams.get(limitParam)} rows`,
          ),
        ]),
      ];
    },
  },
  {
    says: 'spends what its headers leave it, and waits for their reset instead of meeting a 429',
    async find(connector, api) {
      const { limit, remaining, reset } = api.rateLimitHeaders;
      // Without these two, only what was sent from here is known.
      if (remaining === undefined || reset === undefined) return findOwnCountProblems(connector, api);
      // Ten minutes of an hour before the reset somebody else has had two of the five.
      const startMs = START_MS + (api.limits.windowSeconds * 1_000 * 5) / 6;
      const project = createProject(connector, api, { requestsPerWindow: 5, sentByOthers: 2, startMs });
      const report = await project.sync();
      const windows = Math.ceil((project.server.requests.length - 3) / 5);
      const took = windowOf(api, project.server.clock.now()) - windowOf(api, startMs);
      const read = report.quota?.limit;
      return [
        ...findEndProblems(report, 0),
        ...unless(project.server.refused === 0, `${project.server.refused} requests beyond the limit`),
        ...unless(took === windows, `it took ${took} resets where ${windows} do`),
        ...unless(limit === undefined || read === 5, `a limit of ${read} was read, not 5`),
      ];
    },
  },
  {
    says: 'reads no more than what is new where there is a start parameter, and never changes what is there',
    async find(connector, api) {
      const project = createProject(connector, api);
      await project.sync();
      project.server.nextDay();
      // The second sync is the one that tries the parameter.
      await project.sync();
      project.server.nextDay();
      const before = project.server.requests.length;
      const third = await project.sync();
      const asked = project.server.requests.slice(before).map(({ url }) => url);
      const wanted = connector.streams.filter(({ startParam }) => startParam !== undefined);
      const incremental = wanted.flatMap(({ name, path, startParam = '' }) => {
        const { rows, mode } = streamOf(third, name) ?? {};
        const held = project.server.held(path).length;
        const hasParam = asked.some(
          (url) => url.pathname.endsWith(`/${path}`) && url.searchParams.has(startParam),
        );
        const hasEffect = mode === 'incremental' && hasParam && rows !== undefined && rows.read < held / 2;
        return unless(
          hasEffect,
          `${name}: ${startParam} has no effect, ${rows?.read} rows of ${held} were read`,
        );
      });
      const data = await findDataProblems(connector, api, project, third);
      const again = await project.sync({ fullRefresh: true });
      return [
        ...findEndProblems(third, 0),
        ...incremental,
        ...data,
        ...findEndProblems(again, 0),
        ...again.streams.flatMap(({ stream, rows: { inserted, updated, deleted } }) =>
          unless(inserted + updated + deleted === 0, `${stream}: a sync of the same data changed rows`),
        ),
      ];
    },
  },
  {
    says: 'goes on where requests ran out, and asks for no page twice but the first',
    async find(connector, api) {
      const stream = connector.streams.find(({ paginated }) => paginated);
      if (stream === undefined) return [];
      const streams = [stream.name];
      const whole = createProject(connector, api);
      await whole.sync({ streams });
      const parts = createProject(connector, api);
      const first = await parts.sync({ streams, maxRequests: 3 });
      const wasPublished = parts.isPublished();
      const second = await parts.sync({ streams });
      return [
        ...findEndProblems(first, 75),
        ...unless(!wasPublished, 'half a scan was published'),
        ...findEndProblems(second, 0),
        ...(await findDataProblems({ ...connector, streams: [stream] }, api, parts, second)),
        // The head is asked for once more: to know that the data is the same.
        ...unless(
          parts.server.requests.length <= whole.server.requests.length + 1,
          'pages were asked for twice',
        ),
      ];
    },
  },
  {
    says: 'ends with 3 when the key is refused, at once or by each endpoint',
    async find(connector, api) {
      const ends = [401, 403].map(async (status) => {
        const instead = { status, body: { error: { code: 'NO', message: 'no' } } };
        const report = await createProject(connector, api, { instead }).sync();
        const most = status === 401 ? 1 : connector.streams.length;
        return [
          ...findEndProblems(report, 3),
          ...unless(report.requests <= most, `${report.requests} requests after ${status}`),
        ];
      });
      return (await Promise.all(ends)).flat();
    },
  },
  {
    says: 'keeps the table and says so when an answer is no page',
    async find(connector, api) {
      const stream = connector.streams.find(({ paginated }) => paginated);
      // An endpoint without pages may well answer with one object.
      if (stream === undefined) return [];
      const instead = { status: 200, body: { hello: 'there' } };
      const report = await createProject(connector, api, { instead }).sync({ streams: [stream.name] });
      const hint = report.streams[0]?.error?.hint ?? '';
      return [
        ...findEndProblems(report, 4),
        ...unless(/table is unchanged/i.test(hint), `no word of the table: ${hint}`),
      ];
    },
  },
];

/** No request beyond the documented limit, where responses do not say how many are left. */
async function findOwnCountProblems(connector: Connector, api: DescribedApi): Promise<Problems> {
  const project = createProject(connector, api);
  const report = await project.sync();
  const { requests, refused } = project.server;
  const windows = Math.ceil(requests.length / api.limits.requestsPerWindow) - 1;
  const took = windowOf(api, project.server.clock.now()) - windowOf(api, START_MS);
  return [
    ...findEndProblems(report, 0),
    ...unless(refused === 0, `${refused} requests beyond the limit`),
    // A window that slides, counted in whole minutes, takes a little longer.
    ...unless(took >= windows && took <= 2 * windows + 1, `it took ${took} resets where ${windows} do`),
  ];
}

function findEndProblems({ exitCode, error }: RunReport, wanted: number): Problems {
  return unless(exitCode === wanted, `exit code ${exitCode}, not ${wanted}: ${error?.message ?? ''}`);
}

/** Streams whose tables are not what their endpoints hold. */
async function findDataProblems(
  { streams }: Pick<Connector, 'streams'>,
  api: DescribedApi,
  project: Project,
  report: RunReport,
): Promise<Problems> {
  const found = streams.map(async ({ name, path }) => {
    const { verdict, status } = streamOf(report, name) ?? {};
    const wanted = api.endpoints[path];
    if (verdict === undefined || verdict !== wanted)
      return [`${name}: ${verdict ?? status}, not ${wanted ?? 'an endpoint'}`];
    return unless(
      isDeepStrictEqual(await project.ids(name), project.server.held(path)),
      `${name}: its table does not hold each record once`,
    );
  });
  return (await Promise.all(found)).flat();
}

function streamOf({ streams }: RunReport, name: string) {
  return streams.find(({ stream }) => stream === name);
}
