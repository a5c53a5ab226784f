import { describe, expect, it } from 'vitest';
import { tellEnd, tellEvent } from '../../src/model/run-observer.ts';

const event = { type: 'warning', message: 'x' } as const;
const ended = { startedAtMs: 0, error: undefined } as unknown as Parameters<typeof tellEnd>[1];

describe('an observer whose callback is an async function', () => {
  it('is told of in a warning at the end, and its rejection ends no process', async () => {
    const fail = () => Promise.reject(new Error('boo'));
    const observer = { name: 'mine', onEvent: fail as unknown as () => void };
    expect(tellEvent([observer], event)).toEqual([]);
    expect(tellEvent([observer], event)).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await tellEnd([observer], ended)).toEqual(['mine threw: boo']);
    expect(await tellEnd([observer], ended)).toEqual([]);
  });
});
