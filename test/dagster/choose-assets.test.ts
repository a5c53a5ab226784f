import { describe, expect, it } from 'vitest';
import { chooseAssets, findForeignAssets } from '../../src/dagster/choose-assets.ts';
import type { SyncedAccount } from '../../src/dagster/synced-account.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';

function makeAccount(account: string | undefined, ...streams: readonly string[]): SyncedAccount {
  const report = makeRunReport({ streams: streams.map((stream) => makeStreamReport({ stream })) });
  return { account, report, error: undefined };
}

function choose(
  assetKeys: readonly string[],
  accounts: readonly SyncedAccount[],
  assets: Readonly<Record<string, string>> = {},
) {
  return Object.fromEntries(
    chooseAssets({ assetKeys, assets }, accounts).map(({ key, scans }) => [
      key,
      scans.map(({ account, report }) => [account, report.stream].filter(Boolean).join('/')),
    ]),
  );
}

describe('an asset of a Dagster step', () => {
  const one = makeAccount(undefined, 'prompts', 'mentions');

  it('has the stream that its key ends in, and other streams are left out', () => {
    expect(choose(['sluice/prompts', 'other'], [one])).toEqual({ 'sluice/prompts': ['prompts'] });
    expect(choose(['my_prompts', 'other'], [one])).toEqual({});
  });

  it('has all slices of a stream', () => {
    const sliced = makeAccount(undefined, 'prompts', 'prompts');
    expect(choose(['prompts', 'other'], [sliced])).toEqual({ prompts: ['prompts', 'prompts'] });
  });

  it('has everything if it is the only one and names no stream', () => {
    expect(choose(['analytics'], [one])).toEqual({ analytics: ['prompts', 'mentions'] });
    expect(choose(['sluice/prompts'], [one])).toEqual({ 'sluice/prompts': ['prompts'] });
  });

  it('has one account where its key names it, and else all of them', () => {
    const accounts = [makeAccount('acme', 'prompts'), makeAccount('globex', 'prompts')];
    expect(choose(['acme/prompts', 'sluice/globex/prompts'], accounts)).toEqual({
      'acme/prompts': ['acme/prompts'],
      'sluice/globex/prompts': ['globex/prompts'],
    });
    expect(choose(['sluice/prompts', 'other'], accounts)).toEqual({
      'sluice/prompts': ['acme/prompts', 'globex/prompts'],
    });
  });

  it('may be named for a stream, which is left out if the step does not have it', () => {
    expect(choose(['raw/p', 'prompts'], [one], { prompts: 'raw/p' })).toEqual({ 'raw/p': ['prompts'] });
    const wishes = { assetKeys: ['prompts', 'other'], assets: { prompts: 'raw/p' } };
    expect(choose(wishes.assetKeys, [one], wishes.assets)).toEqual({});
    expect(findForeignAssets(wishes)).toEqual(['raw/p']);
  });

  it('is not there for a step without assets, or a run that could not start', () => {
    expect(choose([], [one])).toEqual({});
    expect(choose(['analytics'], [{ account: undefined, report: undefined, error: undefined }])).toEqual({});
  });
});
