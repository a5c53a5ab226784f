import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PipesSession } from '../../src/dagster/pipes-session.ts';
import { readPipesPlace } from '../../src/dagster/pipes-place.ts';
import { encodeParam, makeStep } from './pipes.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const CONTEXT = encodeParam({ data: { asset_keys: ['items'], extras: {} } });

describe('the variables of Dagster', () => {
  it('name files with the context and for messages', () => {
    const { env } = makeStep({ assets: ['sluice/items'], extras: { sluice: { check: 'verdict' } } });
    expect(readPipesPlace(env)).toMatchObject({
      target: { path: expect.stringContaining('messages') as string },
      context: { assetKeys: ['sluice/items'], check: 'verdict', assets: {} },
      warnings: [],
    });
  });

  it.each([
    [{ stdio: 'stderr' }, { stream: 'stderr' }],
    [{ buffered_stdio: 'stdout' }, { stream: 'stdout' }],
    [{ path: '/tmp/m', include_stdio_in_messages: true }, { path: '/tmp/m' }],
  ])('may hold the context themselves, and name a stream: %j', (messages, target) => {
    const place = readPipesPlace({
      DAGSTER_PIPES_CONTEXT: CONTEXT,
      DAGSTER_PIPES_MESSAGES: encodeParam(messages),
    });
    expect(place).toMatchObject({ target, context: { assetKeys: ['items'] } });
  });

  it.each([
    ['no base64', '%%%'],
    ['not compressed', Buffer.from('{"path":"/tmp/m"}').toString('base64')],
    ['of another writer', encodeParam({ bucket: 'b', key_prefix: 'k' })],
    ['of an unknown stream', encodeParam({ stdio: 'fd3' })],
    ['null', encodeParam(null)],
    ['empty', ''],
  ])('that cannot be read give a reason: messages are %s', (_, messages) => {
    const place = readPipesPlace({ DAGSTER_PIPES_CONTEXT: CONTEXT, DAGSTER_PIPES_MESSAGES: messages });
    expect(place).toMatch(/^DAGSTER_PIPES_MESSAGES .*: the run is not reported to Dagster$/);
  });

  it.each([
    ['missing', undefined],
    ['garbage', 'x'],
    ['of a file that is not there', encodeParam({ path: '/nowhere/context' })],
    ['not an object', encodeParam({ data: [1] })],
    ['with other keys', encodeParam({ data: { asset_keys: 'items' } })],
  ])('that cannot be read give a reason: the context is %s', (_, context) => {
    const { env } = makeStep();
    const place = readPipesPlace({ ...env, DAGSTER_PIPES_CONTEXT: context });
    expect(place).toBe('DAGSTER_PIPES_CONTEXT cannot be read: the run is not reported to Dagster');
  });

  it.skipIf(process.platform === 'win32')(
    'that name pipes without another end do not hold the run up',
    () => {
      const pipe = join(makeTempFolder(), 'pipe');
      execFileSync('mkfifo', [pipe]);
      const { env } = makeStep();
      expect(readPipesPlace({ ...env, DAGSTER_PIPES_CONTEXT: encodeParam({ path: pipe }) })).toBe(
        'DAGSTER_PIPES_CONTEXT cannot be read: the run is not reported to Dagster',
      );
      const session = new PipesSession({
        env: { ...env, DAGSTER_PIPES_MESSAGES: encodeParam({ path: pipe }) },
        write: () => undefined,
        mask: (text) => text,
      });
      const [warning] = session.end({
        exitCode: 0,
        resumeAt: undefined,
        accounts: [],
        error: undefined,
        warnings: [],
      });
      expect(warning).toContain('the run could not be reported to Dagster: ENXIO');
    },
  );

  it('may hold extras that cannot be read, which are ignored with a warning', () => {
    const place = readPipesPlace(makeStep({ extras: { sluice: { check: 1 } } }).env);
    expect(place).toMatchObject({ context: { check: undefined, assets: {} } });
    expect(place).toHaveProperty('warnings.0', expect.stringContaining('extras["sluice"]'));
  });
});
