import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MetricsServer, startMetricsServer } from '../../src/metrics/metrics-server.ts';
import { writeMetricsFile } from '../../src/metrics/write-metrics-file.ts';

let server: MetricsServer;
beforeAll(async () => {
  server = await startMetricsServer({
    host: '127.0.0.1',
    port: 0,
    paths: {
      '/metrics': () => Promise.resolve({ status: 200, type: 'text/plain', body: 'ä 1\n' }),
      '/readyz': () => ({ status: 503, type: 'application/json', body: '{}' }),
      '/broken': () => Promise.reject(new Error('secret cause')),
    },
  });
});
afterAll(() => server.close());

async function ask(path: string, method = 'GET') {
  const response = await fetch(`${server.origin}${path}`, { method });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

describe('the endpoint', () => {
  it.each([
    ['/metrics', 200, 'ä 1\n'],
    ['/metrics?name=x', 200, 'ä 1\n'],
    ['/readyz', 503, '{}'],
    ['/', 404, 'not found\n'],
    ['/metrics/', 404, 'not found\n'],
    ['/constructor', 404, 'not found\n'],
    ['/..%2fetc/passwd', 404, 'not found\n'],
    ['/broken', 500, 'internal error\n'],
  ])('answers %s with %i', async (path, status, body) => {
    expect(await ask(path)).toMatchObject({ status, body });
  });

  it('answers HEAD without a body, and no method that could change something', async () => {
    const head = await ask('/metrics', 'HEAD');
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers.get('content-length')).toBe('5');
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const refused = await ask('/metrics', method);
      expect(refused.status).toBe(405);
      expect(refused.headers.get('allow')).toBe('GET, HEAD');
    }
  });

  it('lives on after what is not HTTP', async () => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    await new Promise((resolve) => {
      socket.on('close', resolve).on('error', resolve);
      socket.resume();
      socket.end(`GET /metrics HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n\0\0`);
    });
    expect((await ask('/metrics')).status).toBe(200);
  });

  it('says what to do where the port is taken', async () => {
    const port = Number(new URL(server.origin).port);
    await expect(startMetricsServer({ host: '127.0.0.1', port, paths: {} })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('another program uses that port') as string,
      hint: expect.stringContaining('--metrics-port') as string,
    });
    await expect(startMetricsServer({ host: '192.0.2.1', port: 0, paths: {} })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('no such address') as string,
    });
  });
});

describe('the metrics file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-metrics-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is replaced whole, for other users to read, and leaves nothing next to it', async () => {
    const file = join(folder, 'sluice.prom');
    await writeMetricsFile(file, 'a 1\n');
    await writeMetricsFile(file, 'b 2\n');
    expect(readFileSync(file, 'utf8')).toBe('b 2\n');
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(['sluice.prom']);
  });

  it('throws where there is no folder', async () => {
    await expect(writeMetricsFile(join(folder, 'none', 'sluice.prom'), 'a 1\n')).rejects.toThrow(/ENOENT/);
  });
});
