import { describe, expect, it } from 'vitest';
import { inTurn, repeatOnConflict } from '../../src/publish/lakehouse/in-turn.ts';

describe('work in turn', () => {
  it('begins at a place once all before it has ended, well or not, and elsewhere at once', async () => {
    const events: string[] = [];
    const first = Promise.withResolvers<void>();
    const work = (name: string, until: Promise<void>) => async () => {
      events.push(`${name} begins`);
      await until;
      events.push(`${name} ends`);
    };
    const here = { turn: 'here' };
    const ended = [
      inTurn(here, work('one', first.promise)).catch((error: unknown) => events.push(String(error))),
      inTurn(here, work('two', Promise.resolve())),
      inTurn({ turn: 'there' }, work('other', Promise.resolve())),
    ];
    await ended[2];
    expect(events).toEqual(['one begins', 'other begins', 'other ends']);
    first.reject(new Error('broken'));
    await Promise.all(ended);
    expect(events.slice(3).toSorted()).toEqual(['Error: broken', 'two begins', 'two ends']);
    await expect(inTurn(here, () => Promise.resolve('free again'))).resolves.toBe('free again');
  });

  it('is not done by one that is stopped while it waits, and the next still waits for those before', async () => {
    const events: string[] = [];
    const here = { turn: 'here' };
    const first = Promise.withResolvers<void>();
    const stop = new AbortController();
    const note = (name: string) => () => Promise.resolve(void events.push(name));
    const one = inTurn(here, () => first.promise);
    const two = inTurn(here, note('two'), stop.signal);
    const three = inTurn(here, note('three'));
    stop.abort();
    await expect(two).rejects.toMatchObject({ code: 'aborted' });
    await expect(inTurn(here, note('four'), stop.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(events).toEqual([]);
    first.resolve();
    await Promise.all([one, three]);
    expect(events).toEqual(['three']);
  });
});

describe('work that meets others', () => {
  const conflict = new Error('conflict');
  const isConflict = (thrown: unknown) => thrown === conflict;
  const tryUntil = async (failures: readonly Error[], lakehouse: { isConflict?: typeof isConflict }) => {
    const pauses: number[] = [];
    const clock = { sleep: (ms: number) => Promise.resolve(void pauses.push(ms)) };
    let tries = 0;
    const done = await repeatOnConflict(lakehouse, clock, () => {
      const failure = failures[tries];
      tries += 1;
      return failure === undefined ? Promise.resolve('done') : Promise.reject(failure);
    }).catch((error: unknown) => error);
    return { done, tries, pauses };
  };

  it('is done again, later each time, and not for ever', async () => {
    const twice = await tryUntil([conflict, conflict], { isConflict });
    expect(twice).toEqual({ done: 'done', tries: 3, pauses: [100, 200] });
    const always = await tryUntil(
      Array.from({ length: 50 }, () => conflict),
      { isConflict },
    );
    expect(always).toMatchObject({ done: conflict, tries: 12 });
  });

  it('fails at once with anything else, or where nothing is known of conflicts', async () => {
    const other = new Error('other');
    expect(await tryUntil([other], { isConflict })).toMatchObject({ done: other, tries: 1 });
    expect(await tryUntil([conflict], {})).toMatchObject({ done: conflict, tries: 1 });
  });
});
