import { describe, expect, it } from 'vitest';
import { openProgressDisplay } from '../../../src/cli/progress/open-display.ts';
import type { GlobalValues } from '../../../src/cli/frame/context.ts';
import { createWorld, noGlobals } from '../support/capture.ts';
import { page, start } from '../support/progress-events.ts';

const ESCAPE = '\u001b';

async function show(env: NodeJS.ProcessEnv, globals: Partial<GlobalValues> = {}, columns?: number) {
  const { context, stdout, stderr } = createWorld({ env, ...(columns !== undefined && { columns }) });
  const display = await openProgressDisplay(context, { ...noGlobals, ...globals });
  for (const [, event] of [...start, [0, page(1, 2)] as const]) display.onProgress(event);
  display.onProgress({ type: 'warning', message: 'the key expires soon' });
  display.onProgress({ type: 'note', message: 'the state is restored' });
  context.output.writeNote('stopping');
  display.close();
  expect(stdout.text()).toBe('');
  return stderr.text();
}

describe('on a terminal', () => {
  const utf8 = { LANG: 'en_US.UTF-8' };

  it('the display redraws itself, with warnings and notes above it', async () => {
    const text = await show(utf8, {}, 80);
    expect(text).toContain(`${ESCAPE}[`);
    expect(text).toContain('1/2 pages');
    expect(text.indexOf('the key expires soon')).toBeLessThan(text.lastIndexOf('1/2 pages'));
    expect(text).toContain('the state is restored');
    expect(text.indexOf('stopping')).toBeLessThan(text.lastIndexOf('1/2 pages'));
  });

  it('leaves the cursor as it is', async () => {
    await expect(show(utf8, {}, 80)).resolves.not.toContain(`${ESCAPE}[?25l`);
  });

  it.each([
    { why: 'CI', env: { ...utf8, CI: 'true' }, globals: {} },
    { why: 'a dumb terminal', env: { ...utf8, TERM: 'dumb' }, globals: {} },
    { why: '--no-progress', env: { ...utf8, NO_COLOR: '1' }, globals: { noProgress: true } },
    { why: '--log-format json', env: utf8, globals: { logFormat: 'json' } as const },
    { why: '--log-level warn', env: { ...utf8, NO_COLOR: '1' }, globals: { logLevel: 'warn' } as const },
  ])('$why gets lines instead', async ({ env, globals }) => {
    const text = await show(env, globals, 80);
    expect(text).not.toContain(ESCAPE);
    expect(text).toContain('the key expires soon');
  });

  it('NO_COLOR takes the colours and leaves the display', async () => {
    const text = await show({ ...utf8, NO_COLOR: '1' }, {}, 80);
    expect(text).toContain('1/2 pages');
    expect(text).not.toMatch(/\u001b\[\d*m/);
  });
});

describe('elsewhere', () => {
  it('there are lines without any escape', async () => {
    const text = await show({});
    expect(text).not.toContain(ESCAPE);
    expect(text).toContain('INFO: prompts_analytics: 1 of 2 pages, 100 of 200 rows');
  });

  it('--log-level silent says nothing of a run', async () => {
    await expect(show({}, { logLevel: 'silent' })).resolves.toBe('stopping\n');
  });
});
