import { cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { DuckLake } from '../../src/publish/lakehouse/ducklake/ducklake.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { findExtensions, placeOf } from '../support/lake-servers.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

describeWithServers('a DuckLake with a file as its catalog', () => {
  /** Lakes of one catalog, each with a schema, and with extensions that are files of their own. */
  function createLakes() {
    const folder = makeTempFolder();
    return ['one', 'other'].map((schema) => {
      const own = join(folder, 'extensions', schema);
      for (const name of ['ducklake', 'sqlite_scanner']) {
        mkdirSync(dirname(join(own, placeOf(name))), { recursive: true });
        cpSync(join(findExtensions() ?? '', placeOf(name)), join(own, placeOf(name)));
      }
      return new DuckLake({
        kind: 'ducklake',
        path: 'the lake',
        catalog: { kind: 'sqlite', file: join(folder, 'catalog.sqlite') },
        data: join(folder, 'data'),
        schema,
        store: {},
        extensions: { folder: own, installs: false },
        secrets: [],
      });
    }) as [DuckLake, DuckLake];
  }

  /** What is at the place of the catalog, before any publish. */
  function putCatalog({ destination: { catalog } }: DuckLake, statement: string): void {
    if (catalog.kind !== 'sqlite') throw new Error('the catalog is a file');
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    writeFileSync(catalog.file, '');
    const made = new DatabaseSync(catalog.file);
    made.exec(statement);
    made.close();
    expect(statSync(catalog.file).size > 0).toBe(statement !== '');
  }

  it.each([
    ['is empty', ''],
    ['has no table', 'PRAGMA journal_mode = WAL'],
  ])('is new where the file %s, as a first publish leaves it that is killed', async (_, statement) => {
    const [lake] = createLakes();
    putCatalog(lake, statement);
    expect(await lake.open({ mode: 'read' })).toBeUndefined();
    const created = await lake.open({ mode: 'create' });
    await created?.run('CREATE TABLE lake.main.one AS SELECT 1 AS x');
    await created?.release();
    const again = await lake.open({ mode: 'read' });
    expect(await again?.count('SELECT count(*) FROM lake.main.one')).toBe(1);
    await again?.release();
  });

  it('is refused where the file has a table of somebody else', async () => {
    const [lake] = createLakes();
    putCatalog(lake, 'CREATE TABLE notes (text TEXT)');
    await expect(lake.open({ mode: 'read' })).rejects.toMatchObject({
      exitCode: 2,
      message: 'the lake exists and is not the catalog of a DuckLake; nothing is written into it',
    });
  });

  it('is open for one run of this process at a time, as often as that needs it', async () => {
    const [one, other] = createLakes();
    const first = await one.open({ mode: 'create' });
    await first?.run('CREATE TABLE lake.main.one AS SELECT 1 AS x');
    let isOpen = false;
    const waiting = other.open({ mode: 'create' }).then((database) => {
      isOpen = true;
      return database;
    });
    const again = await one.open({ mode: 'read' });
    expect(await again?.count('SELECT count(*) FROM lake.main.one')).toBe(1);
    await again?.release();
    await first?.run('INSERT INTO lake.main.one VALUES (2)');
    expect(isOpen).toBe(false);
    await first?.release();
    const second = await waiting;
    expect(await second?.count('SELECT sum(x) FROM lake.main.one')).toBe(3);
    await second?.release();
  });

  it('lets the next in after one that is not there, that fails, or that gave up waiting', async () => {
    const [one, other] = createLakes();
    expect(await one.open({ mode: 'read' })).toBeUndefined();
    const broken = one.open({ mode: 'create', prepare: () => Promise.reject(new Error('broken')) });
    await expect(broken).rejects.toThrow('broken');
    const first = await one.open({ mode: 'create' });
    const stop = new AbortController();
    const stopped = other.open({ mode: 'create', signal: stop.signal });
    stop.abort();
    await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
    const waiting = other.open({ mode: 'create' });
    await first?.release();
    await (await waiting)?.release();
  });
});
