import { describe, expect, it } from 'vitest';
import { AbortedError } from '../../src/model/errors.ts';
import { listenForSignals } from '../../src/cli/terminal/signals.ts';
import { run } from './support/capture.ts';

function createHost() {
  const listeners = new Map<string, () => void>();
  const done: string[] = [];
  const notes: string[] = [];
  let nowMs = 7;
  const host = {
    pid: 7,
    on: (signal: string, listener: () => void) => void listeners.set(signal, listener),
    removeAllListeners: (signal: string) => void listeners.delete(signal),
    kill: (pid: number, signal: string) => void done.push(`kill ${pid} ${signal}`),
    exit: (code: number) => void done.push(`exit ${code}`),
  };
  const control = listenForSignals(host, { writeNote: (line) => void notes.push(line) }, () => nowMs);
  return {
    control,
    done,
    notes,
    raise: (signal: string) => listeners.get(signal)?.(),
    pass: (ms: number) => (nowMs += ms),
  };
}

describe('the first signal', () => {
  it.each([
    ['SIGINT', 130, 'press Ctrl-C again to quit at once'],
    ['SIGTERM', 143, 'another signal quits at once'],
  ])('%s aborts with exit code %i and one line', (signal, exitCode, again) => {
    const { control, raise, notes, done } = createHost();
    control.choose('keep-pages');
    raise(signal);
    expect(control.signal.reason).toBeInstanceOf(AbortedError);
    expect(control.signal.reason).toMatchObject({ code: 'aborted', exitCode });
    expect(control.signal.reason).toHaveProperty('hint', expect.stringContaining('to continue'));
    expect(notes).toEqual([`stopping: keeping the pages already paid for; ${again}`]);
    expect(done).toEqual([]);
  });

  it('closes other work without that line, also before a command chose anything', () => {
    const { control, raise, notes } = createHost();
    raise('SIGTERM');
    expect({ aborted: control.signal.aborted, notes }).toEqual({ aborted: true, notes: [] });
    expect(control.signal.reason).not.toHaveProperty('hint', expect.stringContaining('to continue'));
  });

  it('ends a command that has nothing to keep', () => {
    const { control, raise, done } = createHost();
    control.choose('quit');
    raise('SIGINT');
    expect(done).toEqual(['kill 7 SIGINT', 'exit 130']);
  });
});

describe('the second signal', () => {
  it('ends the process at once, also when it is the other one', () => {
    const { control, raise, pass, done, notes } = createHost();
    control.choose('keep-pages');
    raise('SIGINT');
    pass(600);
    raise('SIGTERM');
    expect(done).toEqual(['kill 7 SIGTERM', 'exit 143']);
    expect(notes).toHaveLength(1);
  });

  it('is the first one still where it comes right after it, as `timeout` and npm send it', () => {
    const { control, raise, pass, done, notes } = createHost();
    control.choose('keep-pages');
    raise('SIGTERM');
    raise('SIGTERM');
    pass(300);
    raise('SIGTERM');
    expect(done).toEqual([]);
    expect(notes).toHaveLength(1);
    expect(control.signal.reason).toMatchObject({ exitCode: 143 });
    pass(300);
    raise('SIGTERM');
    expect(done).toEqual(['kill 7 SIGTERM', 'exit 143']);
  });
});

describe('pages are kept', () => {
  it('while a run reads, and not before or after it', async () => {
    const { stops } = await run(['sync']);
    expect(stops).toEqual(['keep-pages', 'close']);
  });

  it.each([['check'], ['plan'], ['sync', '--dry-run'], ['plan', '--offline'], ['quarantine', 'retry']])(
    'by no %s %s',
    async (...argv) => {
      const { stops } = await run(argv);
      expect(stops).not.toContain('keep-pages');
    },
  );
});
