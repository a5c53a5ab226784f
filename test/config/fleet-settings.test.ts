import { describe, expect, it } from 'vitest';
import { wrapConfig } from '../../src/config/config-file.ts';
import { resolveFleet } from '../../src/config/fleet-settings.ts';
import { SyncError } from '../../src/model/errors.ts';

const env = {
  FLEET_DATABASE_URL: 'postgres://fleet:p%40ss@db.example.com:5433/fleet',
  FLEET_KEY: 'k'.repeat(32),
};
const minimal = { database: '${FLEET_DATABASE_URL}', encryptionKey: '${FLEET_KEY}' };
const accounts = { acme: {} };

function resolve(fleet: unknown, more: object = {}) {
  const file = wrapConfig({ accounts, fleet, ...more }, '/project');
  return resolveFleet(file, { env, home: '/home/someone' });
}

function refuse(fleet: unknown, more: object = {}): string {
  try {
    resolve(fleet, more);
    return '';
  } catch (thrown) {
    if (!(thrown instanceof SyncError)) throw thrown;
    expect(thrown).toMatchObject({ exitCode: 2 });
    return `${thrown.message}\n${thrown.hint}`;
  }
}

describe('the fleet of a config', () => {
  it('has defaults for all but the database and the key', () => {
    expect(resolve(minimal)).toMatchObject({
      place: 'postgres://db.example.com:5433/fleet',
      store: { kind: 'postgres' },
      encryptionKey: env.FLEET_KEY,
      leaseMs: 60_000,
      schedule: undefined,
      jitterMs: 0,
      putEveryPages: 50,
    });
  });

  it('keeps its password and its key as secrets, and shows its place without a login', () => {
    const { secrets, place, database } = resolve(minimal);
    expect(secrets).toEqual(['p%40ss', 'p@ss', env.FLEET_KEY]);
    expect(database.href).toBe(env.FLEET_DATABASE_URL);
    expect(place).not.toMatch(/fleet:|p%40ss|p@ss/);
  });

  it.each([
    ['s3://bucket/fleet/', { kind: 's3', bucket: 'bucket', prefix: 'fleet' }],
    ['s3://my-bucket', { kind: 's3', bucket: 'my-bucket', prefix: '' }],
    ['/mnt/fleet', { kind: 'folder', path: '/mnt/fleet' }],
    ['./store', { kind: 'folder', path: '/project/store' }],
    ['~/store', { kind: 'folder', path: '/home/someone/store' }],
    ['postgres', { kind: 'postgres' }],
  ])('may keep states in %s', (store, place) => {
    expect(resolve({ ...minimal, store }).store).toEqual(place);
  });

  it('reads a schedule in a time zone, and durations', () => {
    const written = {
      ...minimal,
      schedule: '15 6 * * *',
      timezone: 'Europe/Berlin',
      jitter: '30m',
      lease: '90s',
    };
    expect(resolve(written)).toMatchObject({
      schedule: { expression: '15 6 * * *', timezone: 'Europe/Berlin' },
      jitterMs: 1_800_000,
      leaseMs: 90_000,
    });
    expect(resolve({ ...minimal, schedule: '@daily' }).schedule?.timezone).toBe('UTC');
  });

  it('reaches a bucket as destination.s3 says, whatever else a destination needs', () => {
    const destination = { parquet: '${NOT_SET}', s3: { endpoint: 'https://s3.example.com', region: 'eu-1' } };
    const { reach } = resolve({ ...minimal, store: 's3://bucket' }, { destination });
    expect(reach.store).toMatchObject({ region: 'eu-1' });
  });

  it.each<[string, unknown, string, string]>([
    ['no fleet', undefined, 'fleet: is missing', 'Write fleet: {'],
    ['an empty fleet', null, 'fleet: is missing', 'Write fleet: {'],
    [
      'no database',
      { encryptionKey: '${FLEET_KEY}' },
      'fleet.database: is missing',
      'postgres://user:password@',
    ],
    [
      'no key',
      { database: '${FLEET_DATABASE_URL}' },
      'fleet.encryptionKey: is missing',
      'openssl rand -hex 32',
    ],
    [
      'no time zone',
      { ...minimal, timezone: 'Europe/Berln' },
      'fleet.timezone: is not a time zone',
      'Europe/Berlin',
    ],
    ['a short key', { ...minimal, encryptionKey: 'short' }, 'at least 16 characters', ''],
    [
      'the name of a variable',
      { ...minimal, encryptionKey: '$FLEET_ENCRYPTION_KEY' },
      'name of a variable',
      '',
    ],
    [
      'another database',
      { ...minimal, database: 'mysql://u:s3cret@h/d' },
      'is not an address of a database',
      '',
    ],
    ['a variable that is not set', { ...minimal, database: '${NOT_SET}' }, 'NOT_SET', ''],
    [
      'another store',
      { ...minimal, store: 'gs://bucket' },
      'fleet.store: is not a place',
      's3://bucket/prefix',
    ],
    ['a short lease', { ...minimal, lease: '1s' }, 'must be at least 2s', ''],
    ['an unknown key', { ...minimal, leese: '10s' }, 'leese', 'lease'],
    ['no pages', { ...minimal, putEveryPages: 0 }, 'fleet.putEveryPages', ''],
  ])('is refused with %s, and says what to write', (_, fleet, message, hint) => {
    const said = refuse(fleet);
    expect(said).toContain(message);
    expect(said).toContain(hint);
    expect(said).not.toMatch(/p%40ss|p@ss|s3cret|k{16}/);
  });

  it('needs accounts', () => {
    const file = wrapConfig({ fleet: minimal }, '/project');
    expect(() => resolveFleet(file, { env, home: undefined })).toThrow(
      'needs accounts, and the config has none',
    );
  });
});
