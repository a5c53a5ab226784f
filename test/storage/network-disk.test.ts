import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeNetworkDisks } from '../../src/storage/network-disk.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const places = { stateDir: '/srv/state', ledgerDir: '/home/me/quota' };

describe('a network disk', () => {
  it.each([
    [0x6969, 'NFS'],
    // Some systems give the number with a sign.
    [0xff534d42 - 2 ** 32, 'CIFS'],
    [0xff534d42, 'CIFS'],
  ])('is warned about: %i is %s', (type, disk) => {
    const isState = (folder: string) => folder === places.stateDir;
    expect(describeNetworkDisks(places, (folder) => (isState(folder) ? type : 0xef53))).toEqual([
      expect.stringContaining(`stateDir /srv/state is on a network disk (${disk})`),
    ]);
  });

  it('is reported for the quota ledger as well', () => {
    expect(describeNetworkDisks(places, () => 0x6969)).toEqual([
      expect.stringContaining('stateDir /srv/state'),
      expect.stringContaining('source.quota.ledgerDir /home/me/quota'),
    ]);
  });

  it('is none where nobody can tell, nor here', () => {
    expect(describeNetworkDisks(places, () => undefined)).toEqual([]);
    const folder = makeTempFolder();
    expect(describeNetworkDisks({ stateDir: folder, ledgerDir: join(folder, 'not', 'yet') })).toEqual([]);
  });
});
