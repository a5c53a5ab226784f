import { describe, expect, it } from 'vitest';
import type { Connector } from '../../src/model/connector.ts';
import { redact } from '../../src/text/redact.ts';
import { describeConnector } from '../contract/connector.ts';
import { createProject } from '../contract/connector-project.ts';
import type { DescribedApi } from '../contract/described-api.ts';
import { KEY } from '../contract/stand-in-api.ts';
import { ordersApi } from './example-orders/api.ts';
import { exampleOrders } from './example-orders/connector.ts';

describeConnector(exampleOrders, ordersApi);

/** The same connector and API with other limits and headers of them. */
function vary(
  rateLimitHeaders: Connector['rateLimitHeaders'],
  limits: Partial<Connector['limits']> = {},
): readonly [Connector, DescribedApi] {
  const merged = { ...exampleOrders.limits, ...limits };
  return [
    { ...exampleOrders, rateLimitHeaders, limits: merged },
    { ...ordersApi, rateLimitHeaders, limits: merged },
  ];
}

const few = { requestsPerWindow: 4 };
describeConnector(...named('without any header', vary({}, few)));
describeConnector(...named('with Remaining alone', vary({ remaining: 'RateLimit-Remaining' }, few)));
describeConnector(
  ...named('with a window of a day', vary(exampleOrders.rateLimitHeaders, { windowSeconds: 86_400 })),
);
describeConnector(...named('with a window of a minute', vary({}, { ...few, windowSeconds: 60 })));

function named(what: string, [connector, api]: readonly [Connector, DescribedApi]) {
  return [
    { ...connector, name: `${connector.name}-${what.replaceAll(' ', '-').toLowerCase()}` },
    api,
  ] as const;
}

describe('a quota that no header tells of', () => {
  it('waits for as long as Retry-After says', async () => {
    const [connector] = vary({});
    const [, api] = vary({}, { requestsPerWindow: 3 });
    const project = createProject(connector, api);
    expect(await project.sync()).toMatchObject({ exitCode: 0 });
    // The connector believes in more requests than there are: one request a window finds out.
    expect(project.server.refused).toBeGreaterThan(0);
    expect(project.server.refused).toBeLessThan(project.server.requests.length / 2);
  });
});

describe('a key with a scheme', () => {
  it('is hidden with what stands before it, however it is written', () => {
    const header = `Bearer ${KEY}`;
    const basic = Buffer.from(header).toString('base64');
    for (const text of [header, encodeURIComponent(header), basic, `{"authorization":"${header}"}`])
      expect(redact(`sent ${text}.`, [KEY])).not.toContain(KEY);
    expect(redact(basic, [KEY])).not.toBe(basic);
  });

  it('is nowhere but in its header, also when it is rejected with an echo', async () => {
    const body = { error: { code: 'E401', message: `not valid: Bearer ${KEY}` } };
    const project = createProject(exampleOrders, ordersApi, { instead: { status: 401, body } });
    const report = await project.sync();
    expect(report.exitCode).toBe(3);
    expect(JSON.stringify(report)).not.toContain(KEY);
    for (const { headers } of project.server.requests)
      expect(Object.entries(headers).filter(([, value]) => value.includes(KEY))).toEqual([
        ['authorization', `Bearer ${KEY}`],
      ]);
  });
});
