import { describe, expect, it } from 'vitest';
import { warnOfMistypedTwins } from '../../../src/cli/options/mistyped-twins.ts';

const options = ['max-wait', 'max-requests', 'streams', 'config', 'run-id'].map((flag) => ({ flag }));
const others = [{ flag: 'max-waits' }];
const warn = (env: NodeJS.ProcessEnv) => warnOfMistypedTwins(env, options, () => Promise.resolve(others));

describe('a variable that is almost the twin of an option', () => {
  it.each([
    ['SLUICE_MAX_WAT', 'SLUICE_MAX_WAIT'],
    ['SLUICE_STREAM', 'SLUICE_STREAMS'],
    ['SLUICE_RUNID', 'SLUICE_RUN_ID'],
  ])('%s is named, with %s', async (name, meant) => {
    expect(await warn({ [name]: '1' })).toEqual([
      `the variable ${name} belongs to no option; did you mean ${meant}?`,
    ]);
  });
});

it.each(['SLUICE_MAX_WAIT', 'SLUICE_HASH_KEY', 'SLUICE_NOTIFY_EVENT', 'ANALYTICS_API_KEY', 'SLUICE_MAX'])(
  'the variable %s causes no warning',
  async (name) => {
    expect(await warn({ [name]: '1', PATH: '/bin' })).toEqual([]);
  },
);

it('the variable of another command causes no warning, however close it is', async () => {
  expect(await warn({ SLUICE_MAX_WAITS: '1' })).toEqual([]);
});

it.each(['PATH', 'SLUICE_HASH_KEY', 'SLUICE_MAX_WAIT'])(
  'the other commands are not loaded for %s',
  async (name) => {
    const refuse = () => Promise.reject(new Error('loaded'));
    await expect(warnOfMistypedTwins({ [name]: '1' }, options, refuse)).resolves.toEqual([]);
  },
);
