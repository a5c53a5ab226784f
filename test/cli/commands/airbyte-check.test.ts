import { describe, expect, it } from 'vitest';
import { run } from '../support/capture.ts';

const settle = (detail: string) => ({
  runChecks: () =>
    Promise.resolve({
      items: [{ name: 'mentions', status: 'failed' as const, detail, fix: 'Check the network.' }],
      ok: false,
      exitCode: 5,
      summary: '',
      error: undefined,
    }),
});

const readMessage = async (detail: string): Promise<unknown> => {
  const { stdout, exitCode } = await run(['airbyte', 'check', '--config', 'sluice.yaml'], {
    engine: settle(detail) as never,
  });
  expect(exitCode).toBe(0);
  const { connectionStatus } = JSON.parse(stdout) as { readonly connectionStatus: { message: unknown } };
  return connectionStatus.message;
};

describe('airbyte check', () => {
  it.each([
    ['passes where only the quota is spent', 1, 'SUCCEEDED'],
    ['fails where something else is wrong as well', 2, 'FAILED'],
  ])('%s', async (_, problems, status) => {
    const item = { name: 'mentions', status: 'failed', detail: 'the quota is used up', fix: 'Wait.' };
    const items = Array.from({ length: problems }, () => item);
    const spent = { items, ok: false, exitCode: 75, summary: '', error: { code: 'quota_exhausted' } };
    const { stdout } = await run(['airbyte', 'check', '--config', 'sluice.yaml'], {
      engine: { runChecks: () => Promise.resolve(spent) } as never,
    });
    expect(JSON.parse(stdout)).toMatchObject({ connectionStatus: { status } });
  });

  it.each(['mentions: cannot reach 127.0.0.1:9', 'cannot reach 127.0.0.1:9'])(
    'names a stream once for: %s',
    async (detail) => {
      expect(await readMessage(detail)).toBe('mentions: cannot reach 127.0.0.1:9\nCheck the network.');
    },
  );
});
