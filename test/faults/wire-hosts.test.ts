import { describe, expect, it, onTestFinished } from 'vitest';
import { expectRows } from '../support/published.ts';
import { createRawServer } from '../support/raw-server.ts';
import { createWireFlow, syncEach, WIRE_ROWS } from './kit/wire-flow.ts';
import { toBytes } from './kit/wire-server.ts';

/** A host that nobody has a reason to talk to. */
async function startTrap() {
  const trap = await createRawServer(() => {});
  onTestFinished(() => trap.close());
  return { host: `127.0.0.1:${trap.port}`, hits: () => trap.connectionCount };
}

describe('a redirect', () => {
  const targets: Readonly<Record<string, (trap: string) => string | undefined>> = {
    'to another host': (trap) => `http://${trap}/steal?token=hush`,
    'to another host, with credentials': (trap) => `http://user:hush@${trap}/steal`,
    'to another host by the same scheme': (trap) => `//${trap}/steal`,
    'to another host, between blanks': (trap) => `  http://${trap}/steal  `,
    'to itself': () => '/api/v1/items?offset=0',
    'down to http': () => 'http://analytics.example.com/api/v1/items',
    'to a file': () => 'file:///etc/passwd',
    'to the metadata of a cloud': () => 'http://169.254.169.254/latest/meta-data/',
    'to a script': () => 'javascript:alert(1)',
    'to data': () => 'data:application/json,{"data":[]}',
    'to nowhere': () => undefined,
    'to what is not an address': () => 'http://[',
  };

  const STATUSES = [
    '300 Multiple Choices',
    '301 Moved Permanently',
    '302 Found',
    '303 See Other',
    '307 Temporary Redirect',
    '308 Permanent Redirect',
  ];

  it('of any status to anywhere is not followed: exit code 4 after one request', async () => {
    const trap = await startTrap();
    const cases = Object.values(targets).flatMap((aim) => {
      const location = aim(trap.host);
      const headers = { ...(location !== undefined && { location }), refresh: `0; url=http://${trap.host}/` };
      return STATUSES.map((status) => () => [{ send: toBytes({ status, headers, body: '{"data":[]}' }) }]);
    });
    const { flow, report, ends } = await syncEach(cases);
    expect(report).toMatchObject({ exitCode: 4, requests: cases.length });
    for (const end of ends) {
      expect(end.arrivals).toBe(1);
      expect(end.report.error).toMatchObject({ code: 'redirect_refused', exitCode: 4 });
    }
    expect(JSON.stringify(report)).not.toMatch(/hush|steal|meta-data|passwd|alert/);
    expect(trap.hits()).toBe(0);
    expect(flow.isPublished()).toBe(false);
  });

  it('in mid-scan keeps the pages that came', async () => {
    const { sync, server, flow } = await createWireFlow({
      config: { quota: { burstPerSecond: 1 } },
      misbehave: ({ query }) =>
        query.get('offset') === '99'
          ? [{ send: toBytes({ status: '302 Found', headers: { location: '/login' }, body: '' }) }]
          : undefined,
    });
    expect(await sync()).toMatchObject({ exitCode: 4, requests: 2 });
    server.misbehave(undefined);
    expect(await sync()).toMatchObject({ exitCode: 0 });
    expect(await flow.rows('items')).toEqual(expectRows(WIRE_ROWS));
  });
});

describe('an answer that names another host', () => {
  it('in its headers or its data brings nobody there, and its cookies are not sent back', async () => {
    const trap = await startTrap();
    const url = `http://${trap.host}/`;
    const headers = {
      link: `<${url}>; rel="next", <${url}>; rel=preload; as=fetch, <${url}>; rel=preconnect`,
      'alt-svc': `h2="${trap.host}"; ma=86400, h3="${trap.host}"`,
      location: url,
      'content-location': url,
      refresh: `0; url=${url}`,
      'report-to': `{"endpoints":[{"url":"${url}"}],"group":"default","max_age":1}`,
      nel: '{"report_to":"default","max_age":1}',
      'set-cookie': 'session=hush; Path=/',
      'www-authenticate': `Bearer authorization_uri="${url}"`,
    };
    const records = WIRE_ROWS.map((row) => ({ ...row, next: `${url}${row.id}`, href: url }));
    const { sync, flow, server } = await createWireFlow({
      records,
      misbehave: (_, healthy) => {
        const envelope = JSON.parse(healthy.body.toString()) as Record<string, unknown>;
        const body = JSON.stringify({
          ...envelope,
          next: url,
          links: { next: url },
          $schema: `${url}schema`,
        });
        return [{ send: toBytes({ ...healthy, headers: { ...healthy.headers, ...headers }, body }) }];
      },
    });
    expect((await sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual(expectRows(records));
    expect(server.arrivals.filter((arrival) => 'cookie' in arrival.headers)).toEqual([]);
    expect(new Set(server.arrivals.map((arrival) => arrival.path))).toEqual(new Set(['/api/v1/items']));
    expect(trap.hits()).toBe(0);
  });
});
