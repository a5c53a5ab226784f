import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { catchConfigError } from './support.ts';

interface Place {
  readonly ledgerDir?: string;
  readonly folder?: string;
  readonly platform?: NodeJS.Platform;
}

function resolve(
  destination: ConfigInput['destination'],
  stateDir?: string,
  { ledgerDir, folder = makeTempFolder(), platform = process.platform }: Place = {},
) {
  const config: ConfigInput = {
    source: {
      connector: 'analytics-read',
      baseUrl: 'https://analytics.example.com/api/v1',
      ...(ledgerDir !== undefined && { quota: { ledgerDir } }),
    },
    destination,
    ...(stateDir !== undefined && { stateDir }),
  };
  const settings = resolveOfflineSettings({
    // As if it had been read from a file.
    loaded: { ...parseConfig(config, folder), path: join(folder, 'sluice.yaml') },
    connectors,
    env: {},
    nowMs: 0,
    platform,
  });
  return { settings, folder };
}

describe('destination.parquet', () => {
  it('is looked at behind links, also those that point to nothing yet', () => {
    const folder = makeTempFolder();
    symlinkSync(join(folder, 'env*prod'), join(folder, 'odd'));
    expect(() => resolve({ parquet: join(folder, 'odd', 'lake') })).toThrow(
      'must not have a path with one of',
    );
    symlinkSync(join(folder, 'lake', 'w.duckdb'), join(folder, 'w.duckdb'));
    const both = { parquet: join(folder, 'lake'), duckdb: join(folder, 'w.duckdb') };
    expect(() => resolve(both)).toThrow('must be outside the folder of destination.parquet');
  });

  it('next to a file is published as well', () => {
    const { settings, folder } = resolve({ duckdb: './w.duckdb', parquet: './lake' });
    expect(settings).toMatchObject({
      readersFile: join(folder, 'w.duckdb'),
      destinations: [
        { kind: 'duckdb', path: join(folder, 'w.duckdb') },
        { kind: 'parquet', path: join(folder, 'lake') },
      ],
    });
    expect(settings.retention.lakeMs).toBe(3_600_000);
  });

  it('alone makes the file of the lake the one to ask', () => {
    const { settings, folder } = resolve({ parquet: './lake' });
    expect(settings).toMatchObject({
      readersFile: join(folder, 'lake', 'lake.duckdb'),
      destinations: [{ kind: 'parquet', path: join(folder, 'lake') }],
    });
  });

  it('may be left out, but not with the file', () => {
    const { destinations } = resolve({ duckdb: './w.duckdb' }).settings;
    expect(destinations.map(({ kind }) => kind)).toEqual(['duckdb']);
    expect(() => resolve({})).toThrow(
      'needs duckdb (a file), parquet (a folder), ducklake (a catalog and its data), iceberg (a REST catalog), postgres (a database) or motherduck (a database there)',
    );
  });

  it('may lie in a folder that readers take for a column', () => {
    const { settings, folder } = resolve({ parquet: './env=prod/lake' });
    expect(settings.destinations[0]?.path).toBe(join(folder, 'env=prod', 'lake'));
  });

  it.each([
    [{ parquet: 's3://bucket/lake' }, undefined, 'must be a folder on this machine'],
    [{ parquet: './la*e' }, undefined, 'must not have a path with one of'],
    [{ parquet: './.sluice/lake' }, undefined, 'must not be inside the state folder'],
    [{ parquet: './data' }, './data/state', 'must not be inside the state folder'],
    [{ parquet: './.sluice' }, undefined, 'must not be inside the state folder'],
    [
      { parquet: './lake', duckdb: './lake/w.duckdb' },
      undefined,
      'must be outside the folder of destination.parquet',
    ],
    [{ parquet: './x', duckdb: './x' }, undefined, 'must be outside the folder of destination.parquet'],
    [{ parquet: './w/lake', duckdb: './w' }, undefined, 'must not be below the path of destination.duckdb'],
    [{ parquet: '.' }, '../state', 'must not be inside the folder of the contract files'],
    [{ parquet: './contracts' }, undefined, 'must not be inside the folder of the contract files'],
    [{ parquet: './contracts/lake' }, undefined, 'must not be inside the folder of the contract files'],
  ] as const)('of %j with stateDir %j is refused', (destination, stateDir, message) => {
    expect(() => resolve(destination, stateDir)).toThrow(message);
  });
});

describe('places elsewhere', () => {
  it.each([
    [
      { parquet: 's3://bucket/lake' },
      /destination\.ducklake or destination\.iceberg: a bucket cannot rename files, .*replaced rows/,
    ],
    [{ duckdb: 's3://bucket/w.duckdb' }, /For a bucket use destination\.ducklake or destination\.iceberg/],
    [{ duckdb: 'md:analytics' }, /For MotherDuck use destination\.motherduck: \{ database, token \}/],
  ] as const)('%j is refused with what to write instead', (destination, hint) => {
    const error = catchConfigError(() => resolve(destination));
    expect(error.hint).toMatch(hint);
  });
});

describe('destinations', () => {
  it.each([
    [{ duckdb: './sluice.yaml' }, {}, 'destination.duckdb: is the config file itself'],
    [{ duckdb: './contracts/w.duckdb' }, {}, 'must be outside the folder of the contract files'],
    [{ duckdb: './contracts' }, {}, 'must be outside the folder of the contract files'],
    [{ duckdb: './q/w.duckdb' }, { ledgerDir: './q' }, 'must be outside the folder of the quota ledger'],
    [{ duckdb: './q' }, { ledgerDir: './q' }, 'must be outside the folder of the quota ledger'],
    [{ duckdb: './q' }, { ledgerDir: './q/ledger' }, 'must be outside the folder of the quota ledger'],
    [{ parquet: './q' }, { ledgerDir: './q' }, 'must not be inside the folder of the quota ledger'],
    [{ parquet: './q/lake' }, { ledgerDir: './q' }, 'must not be inside the folder of the quota ledger'],
    [{ parquet: './lake' }, { ledgerDir: './lake/q' }, 'must not be inside the folder of the quota ledger'],
  ] as const)('in the way of other files are refused: %j %j', (destination, place, message) => {
    expect(() => resolve(destination, undefined, place)).toThrow(message);
  });

  it.each([
    [{ parquet: './Lake', duckdb: './lake/w.duckdb' }, 'must be outside the folder of destination.parquet'],
    [{ duckdb: './.SLUICE/w.duckdb' }, 'must be outside the state folder'],
    [{ duckdb: './Contracts/w.duckdb' }, 'must be outside the folder of the contract files'],
    [{ duckdb: './Caf\u00e9', parquet: './cafe\u0301/lake' }, 'must not be below the path of'],
  ] as const)('are told apart as the disk does: %j', (destination, message) => {
    for (const platform of ['darwin', 'win32'] as const)
      expect(() => resolve(destination, undefined, { platform })).toThrow(message);
    expect(resolve(destination, undefined, { platform: 'linux' }).settings.stateDir).toContain('.sluice');
  });

  it('are looked at behind links', () => {
    const folder = makeTempFolder();
    symlinkSync('q', join(folder, 'link'));
    const place = { folder, ledgerDir: './q' };
    expect(() => resolve({ parquet: './link/lake' }, undefined, place)).toThrow('quota ledger');
    symlinkSync('contracts', join(folder, 'other'));
    expect(() => resolve({ duckdb: './other/w.duckdb' }, undefined, place)).toThrow('contract files');
    symlinkSync('sluice.yaml', join(folder, 'w.duckdb'));
    expect(() => resolve({ duckdb: './w.duckdb' }, undefined, place)).toThrow('config file itself');
  });

  it('may be next to all of them', () => {
    const { settings } = resolve({ duckdb: './w.duckdb', parquet: './lake' }, './state', {
      ledgerDir: './q',
    });
    expect(settings.destinations.map(({ kind }) => kind)).toEqual(['duckdb', 'parquet']);
  });
});
