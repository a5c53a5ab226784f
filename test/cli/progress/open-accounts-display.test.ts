import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAccountsDisplay } from '../../../src/cli/progress/open-display.ts';
import type { AccountsDisplay } from '../../../src/cli/progress/accounts-display.ts';
import { keyRefused as error, makeAccountEnd } from '../support/account-ends.ts';
import { createWorld, noGlobals, stoppedClock } from '../support/capture.ts';
import { page, start } from '../support/progress-events.ts';
import { NOW_MS } from '../support/reports.ts';
import { createTerminalScreen } from '../support/terminal-screen.ts';

const ESCAPE = '\u001b';
const utf8 = { LANG: 'en_US.UTF-8', NO_COLOR: '1' };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

/** A display on a terminal, or with 0 columns elsewhere, and a clock that moves when it draws. */
async function open(names: readonly string[], { env = utf8, columns = 80, globals = {} } = {}) {
  let nowMs = NOW_MS;
  const clock = { ...stoppedClock, now: () => nowMs };
  const world = createWorld({ env, clock, ...(columns > 0 && { columns }) });
  const display = await openAccountsDisplay(world.context, { ...noGlobals, ...globals }, names);
  return {
    ...world,
    display,
    text: () => world.stderr.text(),
    /** Draws, `afterMs` later; returns what changed on the terminal. */
    draw: (afterMs = 0) => {
      nowMs += afterMs;
      const seen = world.stderr.text().length;
      vi.advanceTimersByTime(200);
      return world.stderr.text().slice(seen);
    },
  };
}

const withoutEscapes = (text: string) => text.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '');

function begin(display: AccountsDisplay, account: string): void {
  display.onAccount({ type: 'account-started', account, run: 1 });
  for (const [, event] of start) display.follow(account)(event);
}

describe('on a terminal', () => {
  it('begins with all accounts queued, and follows each to its end', async () => {
    const { display, draw, text, stdout } = await open(['acme', 'globex', 'initech']);
    expect(draw()).toContain('0 of 3 accounts done, 3 queued');
    begin(display, 'acme');
    display.follow('acme')(page(1, 20));
    const working = draw();
    expect(working).toContain('› acme  0/2 streams  prompts_analytics: page 1 of 20');
    expect(working).toContain('0 of 3 accounts done, 1 at work, 2 queued');
    display.onAccount({ type: 'account-waiting', account: 'acme', untilMs: NOW_MS + 720_000 });
    expect(draw()).toContain('1 waiting for the quota (the first for 12 min)');
    expect(draw(60_000)).toContain('(the first for 11 min)');
    display.onAccount({ type: 'account-started', account: 'acme', run: 2 });
    expect(draw()).toContain('› acme  starting');
    display.onAccount({ type: 'account-ended', end: makeAccountEnd('acme') });
    display.onAccount({
      type: 'account-ended',
      end: makeAccountEnd('globex', { exitCode: 3, error, report: undefined }),
    });
    expect(text()).toContain('✗ globex  the key was refused\n1 of 3 accounts done, 1 queued, 1 failed');
    display.onAccount({ type: 'account-ended', end: makeAccountEnd('initech', { exitCode: 75 }) });
    display.close();
    expect(withoutEscapes(text())).toMatch(/1 of 3 accounts done, 1 to be continued later, 1 failed\n$/);
    expect(stdout.text()).toBe('');
  });

  it('keeps above the picture what failed and what was warned of, not what went well', async () => {
    const { display, context, text } = await open(['acme', 'globex']);
    begin(display, 'acme');
    begin(display, 'globex');
    display.follow('acme')({ type: 'warning', message: 'the key expires soon' });
    display.follow('globex')({ type: 'warning', stream: 'prompts_analytics', message: 'odd' });
    display.onAccount({ type: 'account-ended', end: makeAccountEnd('acme') });
    display.onAccount({ type: 'account-ended', end: makeAccountEnd('globex', { exitCode: 3, error }) });
    context.output.writeNote('stopping');
    display.close();
    const kept = text()
      .split('\n')
      .filter((line) => /WARN|ERROR|INFO|stopping/.test(line))
      .map((line) => line.replace(/^.*?(?=WARN|ERROR|INFO|stopping)/, ''));
    expect(kept).toEqual([
      'WARN: acme: the key expires soon',
      'WARN: globex: prompts_analytics: odd',
      'ERROR: globex: the key was refused',
      'stopping',
    ]);
    expect(text().indexOf('stopping')).toBeLessThan(text().lastIndexOf('1 of 2 accounts done'));
  });

  it('leaves the last picture and the cursor as they are, and stops drawing', async () => {
    const { display, draw, text, context } = await open(['acme']);
    begin(display, 'acme');
    display.close();
    display.close();
    expect(draw()).toBe('');
    expect(text().match(/0 of 1 account done/g)).toHaveLength(1);
    expect(text()).not.toContain(`${ESCAPE}[?25l`);
    context.output.writeNote('after it');
    expect(withoutEscapes(text())).toMatch(/at work\nafter it\n$/);
  });

  it('fits a narrow terminal, and names an account that the config did not', async () => {
    const { display, draw } = await open(['acme'], { columns: 24 });
    begin(display, 'other');
    const lines = withoutEscapes(draw()).split('\n');
    expect(lines).toContain('› other  0/2 streams  …');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(23);
  });

  it('leaves no rows of an earlier picture behind when the terminal becomes narrower', async () => {
    const { display, draw, stderr, context } = await open(['acme', 'globex', 'initech']);
    const screen = createTerminalScreen(80);
    let seen = 0;
    const look = () => {
      const text = stderr.text();
      screen.write(text.slice(seen));
      seen = text.length;
      return screen.rows().flatMap((row) => (row === '' ? [] : row.slice(0, 8)));
    };
    const resize = (columns: number) => {
      look();
      Object.assign(stderr, { columns });
      screen.resize(columns);
    };
    const picture = ['› acme  ', '› globex', '0 of 3 a'];
    context.output.writeNote('kept');
    begin(display, 'acme');
    begin(display, 'globex');
    draw();
    expect(look()).toEqual(['kept', ...picture]);
    resize(30);
    draw();
    expect(look()).toEqual(['kept', ...picture]);
    resize(24);
    context.output.writeNote('stopping');
    expect(look()).toEqual(['kept', 'stopping', ...picture]);
    resize(60);
    draw();
    expect(look()).toEqual(['kept', 'stopping', ...picture]);
    display.close();
  });

  it('shows no secret', async () => {
    const { display, text, context } = await open(['acme']);
    context.keepSecret('sk-4711-Very-Secret-Key');
    display.onAccount({
      type: 'account-ended',
      end: makeAccountEnd('acme', { exitCode: 3, error: { ...error, message: 'sk-4711-Very-Secret-Key' } }),
    });
    expect(text()).toContain('✗ acme  [redacted]');
    expect(text()).not.toContain('sk-4711');
  });

  it.each([
    { why: 'CI', env: { ...utf8, CI: 'true' }, globals: {} },
    { why: 'a dumb terminal', env: { ...utf8, TERM: 'dumb' }, globals: {} },
    { why: '--no-progress', env: utf8, globals: { noProgress: true } },
    { why: '--log-format json', env: utf8, globals: { logFormat: 'json' } as const },
    { why: '--log-level warn', env: utf8, globals: { logLevel: 'warn' } as const },
  ])('$why gets lines instead', async ({ env, globals }) => {
    const { display, text } = await open(['acme'], { env, globals });
    begin(display, 'acme');
    display.onAccount({ type: 'account-ended', end: makeAccountEnd('acme', { exitCode: 3, error }) });
    display.close();
    expect(text()).not.toContain(ESCAPE);
    expect(text()).toContain('acme: the key was refused');
  });
});

describe('elsewhere', () => {
  it('there are lines with the name of each account', async () => {
    const { display, text } = await open(['acme'], { columns: 0 });
    begin(display, 'acme');
    display.close();
    expect(text()).not.toContain(ESCAPE);
    expect(text()).toContain('INFO: acme: prompts_analytics: reading in full');
  });
});
