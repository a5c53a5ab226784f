import { execFile } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './dockerfile.ts';

interface Checked {
  readonly exitCode: number;
  readonly stderr: string;
}

describe('the health check of the image', () => {
  it('is content where there is no metrics port', async () => {
    expect(await check({})).toEqual({ exitCode: 0, stderr: '' });
    expect(await check({ SLUICE_METRICS_PORT: ' ' })).toEqual({ exitCode: 0, stderr: '' });
  });

  it('asks /healthz, over loopback where the schedule listens on every address', async () => {
    const asked: string[] = [];
    const result = await withServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('ok');
    }, '0.0.0.0');
    expect(result).toEqual({ exitCode: 0, stderr: '' });
    expect(asked).toEqual(['GET /healthz']);
  });

  it('fails where the schedule is not well, or not there', async () => {
    const ill = await withServer((_, response) => response.writeHead(503).end(), '127.0.0.1');
    expect(ill.exitCode).toBe(1);
    expect(ill.stderr).toMatch(/healthz answered 503\n$/);
    // Nothing may listen on the invalid port.
    const away = await check({ SLUICE_METRICS_PORT: '0' });
    expect(away.exitCode).toBe(1);
    expect(away.stderr).toMatch(/healthz did not answer/);
  });
});

async function withServer(listener: RequestListener, host: string): Promise<Checked> {
  const server = createServer(listener);
  await new Promise<void>((listening) => server.listen(0, host, listening));
  const { port } = server.address() as AddressInfo;
  try {
    return await check({ SLUICE_METRICS_PORT: String(port), SLUICE_METRICS_HOST: host });
  } finally {
    server.close();
  }
}

function check(env: Readonly<Record<string, string>>): Promise<Checked> {
  const file = join(root, 'docker/healthcheck.ts');
  return new Promise((resolve) => {
    execFile(process.execPath, ['--no-warnings', file], { env }, (error, _, stderr) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stderr });
    });
  });
}
