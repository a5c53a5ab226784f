import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/model/errors.ts';
import { makeStep } from '../../dagster/pipes.ts';
import { run } from '../support/capture.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';
import { makeRunReport, makeStreamReport } from '../support/reports.ts';

const ASSETS = ['sluice/items', 'sluice/acme/items'];
const report = makeRunReport({ streams: [makeStreamReport({ stream: 'items', verdict: 'verified' })] });
const engine = { runSync: () => Promise.resolve(report) };

function methodsOf(step: ReturnType<typeof makeStep>): readonly string[] {
  return step.read().map(({ method }) => method);
}

describe('a sync that Dagster started', () => {
  it('reports its assets, and ends as it would without', async () => {
    const step = makeStep({ assets: ASSETS, extras: { sluice: { check: 'verdict' } } });
    const { exitCode, stdout } = await run(['sync', '--json'], { env: step.env, engine });
    const alone = await run(['sync', '--json'], { engine });
    expect([exitCode, stdout]).toEqual([alone.exitCode, alone.stdout]);
    expect(methodsOf(step)).toEqual([
      'opened',
      'report_asset_materialization',
      'report_asset_check',
      'report_custom_message',
      'closed',
    ]);
  });

  it('reports that it could not start', async () => {
    const step = makeStep({ assets: ASSETS });
    const error = new ConfigError('no such file', { code: 'config_not_found', hint: 'Write one.' });
    const { exitCode } = await run(['sync'], {
      env: step.env,
      engine: { loadSettings: () => Promise.reject(error) },
    });
    expect(exitCode).toBe(2);
    expect(methodsOf(step)).toEqual(['opened', 'log', 'report_custom_message', 'closed']);
    expect(step.read().at(-1)?.params).toHaveProperty('exception.name', 'config_not_found');
  });

  it('reports all accounts together, each asset once', async () => {
    const step = makeStep({ assets: ASSETS });
    const { exitCode } = await run(['sync'], {
      env: step.env,
      engine: { ...engine, listAccounts: () => Promise.resolve(makeKnownAccounts(['acme', 'globex'])) },
    });
    expect(exitCode).toBe(0);
    const assets = step.read().flatMap(({ params }) => params['asset_key'] ?? []);
    expect(assets.toSorted()).toEqual(['sluice/acme/items', 'sluice/items']);
    expect(methodsOf(step).filter((method) => method === 'closed')).toHaveLength(1);
  });

  it.each([
    { DAGSTER_PIPES_CONTEXT: 'x', DAGSTER_PIPES_MESSAGES: 'x' },
    { DAGSTER_PIPES_CONTEXT: 'x' },
    { DAGSTER_PIPES_MESSAGES: makeStep().env.DAGSTER_PIPES_MESSAGES },
  ])('warns where it cannot read its variables, and ends as it would without', async (env) => {
    const { exitCode, stdout, stderr } = await run(['sync', '--json'], { env, engine });
    const alone = await run(['sync', '--json'], { engine });
    expect([exitCode, stdout]).toEqual([alone.exitCode, alone.stdout]);
    expect(stderr).toMatch(
      /DAGSTER_PIPES_\w+ (?:cannot be read|is not set): the run is not reported to Dagster/,
    );
  });
});
