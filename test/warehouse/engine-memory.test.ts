import { describe, expect, it } from 'vitest';
import { EngineMemory, type EngineShare } from '../../src/warehouse/engine-memory.ts';
import { openTempDatabase } from '../support/temp-database.ts';

function listShares(memory: EngineMemory): EngineShare[] {
  const shares = [memory.current];
  for (let share = memory.grow(); share !== undefined; share = memory.grow()) shares.push(share);
  return shares;
}

const megabytesOf = (shares: readonly EngineShare[]) => shares.map(({ megabytes }) => megabytes);

describe('the memory of the engine', () => {
  it('doubles from little to a share of the machine, and ends with one thread', () => {
    const large = listShares(new EngineMemory(false, 24_000));
    expect(megabytesOf(large)).toEqual([128, 256, 512, 1_024, 2_048, 2_048]);
    expect(large.map(({ threads }) => threads)).toEqual([2, 2, 2, 2, 2, 1]);
    expect(megabytesOf(listShares(new EngineMemory(false, 1_000)))).toEqual([128, 256, 400, 400]);
    expect(megabytesOf(listShares(new EngineMemory(false, 512)))).toEqual([128, 156, 156]);
    expect(megabytesOf(listShares(new EngineMemory(false, 100)))).toEqual([128, 128]);
  });

  it('is all there is for a reader', () => {
    expect(new EngineMemory(true, 24_000).current).toEqual({ megabytes: 2_048, threads: 2 });
    expect(new EngineMemory(true, 512).current).toEqual({ megabytes: 156, threads: 2 });
  });

  it('begins small again with each load, and with one thread for a large one', () => {
    const memory = new EngineMemory(false, 24_000);
    memory.grow();
    memory.grow();
    expect(memory.begin(1_000)).toEqual({ megabytes: 128, threads: 2 });
    expect(memory.begin(1e9)).toEqual({ megabytes: 96, threads: 1 });
    expect(megabytesOf(listShares(memory))).toEqual([96, 192, 384, 768, 1_536, 2_048]);
  });

  it('begins small and with one thread for lines that the engine reads by itself', () => {
    const memory = new EngineMemory(false, 24_000);
    memory.grow();
    expect(memory.beginReading()).toEqual({ megabytes: 64, threads: 1 });
    expect(megabytesOf(listShares(memory))).toEqual([64, 128, 256, 512, 1_024, 2_048]);
  });

  it('has one thread for a small file, until a load is large', () => {
    const memory = new EngineMemory(false, 24_000);
    memory.opened(1_000_000);
    expect(memory.current).toEqual({ megabytes: 128, threads: 1 });
    expect(memory.begin(1_000)).toEqual({ megabytes: 128, threads: 1 });
    expect(memory.begin(1e8)).toEqual({ megabytes: 128, threads: 2 });
    expect(memory.begin(1_000)).toEqual({ megabytes: 128, threads: 2 });
    memory.closed();
    memory.opened(1e8);
    expect(memory.current).toEqual({ megabytes: 128, threads: 2 });
    memory.closed();
    memory.opened();
    expect(memory.current).toEqual({ megabytes: 128, threads: 2 });
    memory.closed();
  });

  it('is never less than the widest table takes to be written', () => {
    const memory = new EngineMemory(false, 24_000);
    expect(memory.fit(40)).toBeUndefined();
    expect(memory.fit(150)).toEqual({ megabytes: 289, threads: 2 });
    expect(memory.fit(120)).toBeUndefined();
    expect(memory.beginReading()).toEqual({ megabytes: 289, threads: 1 });
    expect(memory.begin(1e9)).toEqual({ megabytes: 289, threads: 1 });
    expect(memory.grow()).toEqual({ megabytes: 578, threads: 1 });
    expect(new EngineMemory(false, 512).fit(150)).toEqual({ megabytes: 156, threads: 2 });
  });
});

// Columns take memory before they can spill: 400 of them do not fit into what the engine has at first.
const wide = (rows: number) =>
  `SELECT ${Array.from({ length: 400 }, (_, n) => `range + ${n} AS c${n}`).join(', ')} FROM range(${rows})`;

describe('a statement that does not fit', () => {
  it('is given more memory', async () => {
    const { database } = await openTempDatabase();
    const limit = () => database.all(`SELECT current_setting('memory_limit') AS limit`);
    const [before] = await limit();
    await database.run(`CREATE TEMP TABLE wide AS ${wide(130_000)}`);
    expect(await database.count('SELECT count(*) FROM wide')).toBe(130_000);
    expect(await limit()).not.toEqual([before]);
    await database.beginLoad(0);
    expect(await limit()).toEqual([before]);
  });

  it('in a transaction has all of it done again, and nothing twice', async () => {
    const { database } = await openTempDatabase();
    await database.run('CREATE TABLE log (entry VARCHAR)');
    let turns = 0;
    const result = await database.transaction(async () => {
      turns += 1;
      await database.run(`INSERT INTO log VALUES ('turn ${turns}')`);
      await database.run(`CREATE TEMP TABLE wide AS ${wide(130_000)}`);
      return turns;
    });
    expect(turns).toBeGreaterThan(1);
    expect(result).toBe(turns);
    expect(await database.all('SELECT entry FROM log')).toEqual([{ entry: `turn ${turns}` }]);
    expect(await database.count('SELECT count(*) FROM wide')).toBe(130_000);
  });

  it('for another reason is not done again', async () => {
    const { database } = await openTempDatabase();
    let turns = 0;
    const failing = database.transaction(async () => {
      turns += 1;
      await database.run('SELECT no_such_column');
    });
    await expect(failing).rejects.toThrow('no_such_column');
    expect(turns).toBe(1);
  });

  it('is used by one thread while several engines write, and by two once they are closed', async () => {
    const { database: first } = await openTempDatabase();
    const countThreads = () => first.count("SELECT current_setting('threads')");
    expect(await countThreads()).toBe(2);
    const { database: second } = await openTempDatabase();
    expect(await second.count("SELECT current_setting('threads')")).toBe(1);
    await first.beginLoad(1_000);
    expect(await countThreads()).toBe(1);
    // It is open once, however often it is closed or opened.
    await second.release();
    await second.release();
    await first.beginLoad(1_000);
    expect(await countThreads()).toBe(2);
    await first.release();
    await first.reopen();
    expect(await countThreads()).toBe(2);
    await second.reopen();
    await first.beginLoad(1_000);
    expect(await countThreads()).toBe(1);
  });

  it('is used by one thread of each reader while several read', () => {
    const first = new EngineMemory(true, 24_000);
    const second = new EngineMemory(true, 24_000);
    first.opened();
    expect(first.current.threads).toBe(2);
    second.opened();
    expect(second.current).toEqual({ megabytes: 2_048, threads: 1 });
    first.closed();
    expect(second.current.threads).toBe(2);
    second.closed();
  });
});
