import { describe, expect, it } from 'vitest';
import { listPages, type PageSource } from '../../src/cli/steps/live-pages.ts';
import { StorageError } from '../../src/model/errors.ts';
import { makePathRequest } from './support/path-request.ts';

const headers = { host: 'localhost' };

function open(source: PageSource) {
  const paths = listPages(source, { host: '127.0.0.1', token: undefined });
  return {
    first: async () => paths['/']?.(makePathRequest('/', { headers })),
    account: async (name: string) =>
      paths['/accounts/*']?.(makePathRequest(`/accounts/${name}`, { headers })),
    foreign: async () => paths['/']?.(makePathRequest('/', { headers: { host: 'evil.example' } })),
  };
}

describe('the pages of a live report', () => {
  it('are made at each load, and may be in no frame of another site', async () => {
    let loads = 0;
    const { first } = open({ makeFirst: () => Promise.resolve(`load ${(loads += 1)}`) });
    expect(await first()).toMatchObject({
      status: 200,
      body: 'load 1',
      headers: { 'content-security-policy': "frame-ancestors 'none'" },
    });
    expect(await first()).toMatchObject({ body: 'load 2' });
  });

  it('are not made for those who may not see them', async () => {
    const { foreign } = open({ makeFirst: () => Promise.reject(new Error('made')) });
    expect(await foreign()).toMatchObject({ status: 403 });
  });

  it('are there for each account, and for no other name', async () => {
    const { account } = open({
      makeFirst: () => Promise.resolve('all'),
      makeAccount: (name) => Promise.resolve(name === 'acme' ? 'of acme' : undefined),
    });
    expect(await account('acme')).toMatchObject({ status: 200, body: 'of acme' });
    expect(await account('../acme')).toMatchObject({ status: 404 });
    expect(await open({ makeFirst: () => Promise.resolve('') }).account('acme')).toMatchObject({
      status: 404,
    });
  });

  it('are made one at a time, and once for all who ask meanwhile', async () => {
    const going = new Set<string>();
    const made: string[] = [];
    const gate = Promise.withResolvers<undefined>();
    const make = async (name: string) => {
      expect(going.size).toBe(0);
      going.add(name);
      await gate.promise;
      going.delete(name);
      made.push(name);
      return name;
    };
    const { first, account } = open({ makeFirst: () => make('first'), makeAccount: make });
    const asked = [first(), account('a'), first(), account('b'), account('a')];
    gate.resolve(undefined);
    const answers = await Promise.all(asked);
    expect(answers.map((answer) => answer?.body)).toEqual(['first', 'a', 'first', 'b', 'a']);
    expect(made).toEqual(['first', 'a', 'b']);
  });

  it('say what failed and what to do in their place, and are made again at the next load', async () => {
    let isBroken = true;
    const { first } = open({
      makeFirst: () =>
        isBroken
          ? Promise.reject(
              new StorageError('no \u001b[31mdisk', { code: 'storage_failed', hint: 'Add one.' }),
            )
          : Promise.resolve('fine'),
    });
    const failed = await first();
    expect(failed).toMatchObject({ status: 503, headers: { refresh: '60' } });
    expect(failed?.body).toMatch(/^The report cannot be made: no .*disk\nAdd one\.\n$/);
    expect(failed?.body).not.toContain('\u001b');
    isBroken = false;
    expect(await first()).toMatchObject({ status: 200 });
  });
});
