import { describe, expect, it } from 'vitest';
import { warnOfMistypedTwins } from '../../../src/cli/options/mistyped-twins.ts';

const options = ['max-wait', 'max-requests', 'streams', 'config', 'run-id'].map((flag) => ({ flag }));
const warn = (env: NodeJS.ProcessEnv) => warnOfMistypedTwins(env, () => Promise.resolve(options));

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

it('options are listed only where a variable may be meant for one', async () => {
  const listed = warnOfMistypedTwins({ PATH: '/bin' }, () => Promise.reject(new Error('listed')));
  await expect(listed).resolves.toEqual([]);
});
