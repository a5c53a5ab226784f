import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openLakeWriter } from '../support/lake-writer.ts';
import { openLakeReader } from '../support/read-lake.ts';
import { countRuns } from '../support/seeds.ts';

/** What a reader finds in one generation. */
interface Generation {
  readonly isAnnouncement: boolean;
  /** Names of files by folder, `''` for the generation itself. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
  /** Files with rows, which is what the generation says. */
  readonly content: readonly string[];
}

async function readGenerations(lake: string, names: readonly string[]): Promise<readonly Generation[]> {
  const reader = await openLakeReader();
  const generations: Generation[] = [];
  for (const name of names) {
    const root = join(lake, '_generations', 'items', name);
    const folders = new Map<string, string[]>([['', []]]);
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const folder = entry.parentPath.slice(root.length + 1);
      if (entry.isDirectory()) folders.set(entry.name, []);
      else folders.get(folder)?.push(entry.name);
    }
    const rows = await reader.query(
      `SELECT DISTINCT filename FROM read_parquet('${root}/**/*.parquet', filename = true, hive_partitioning = false)`,
    );
    const content = rows.map(({ filename }) => String(filename).slice(root.length + 1)).toSorted();
    generations.push({ isAnnouncement: name.endsWith('-folders'), folders, content });
  }
  reader.close();
  return generations;
}

/**
 * A reader as engines are: it lists the folders, lists each of them, then opens each file by its path, and at
 * every one of these steps `current` may be a later generation. Undefined where a file could not be opened.
 */
function read(generations: readonly Generation[], moments: readonly number[]): readonly string[] | undefined {
  let step = 0;
  const now = () => generations[moments[Math.min(step++, moments.length - 1)] ?? 0];
  const folders = [...(now()?.folders.keys() ?? [])];
  const listed = folders.flatMap((folder) =>
    (now()?.folders.get(folder) ?? []).map((file) => (folder === '' ? file : `${folder}/${file}`)),
  );
  const opened: string[] = [];
  for (const file of listed) {
    const generation = now();
    const [folder, name] = file.includes('/') ? file.split('/', 2) : ['', file];
    if (generation?.folders.get(folder ?? '')?.includes(name ?? '') !== true) return undefined;
    if (generation.content.includes(file)) opened.push(file);
  }
  // A pattern that matches nothing is an error as well.
  return listed.length === 0 ? undefined : opened.toSorted();
}

/** Readers list folders within the second that an announcement stays: after it, at most one change meanwhile. */
function isWithinPause(generations: readonly Generation[], first: number, endOfListing: number): boolean {
  const announcement = generations.findIndex(({ isAnnouncement }, at) => isAnnouncement && at > first);
  return announcement === -1 || endOfListing <= announcement;
}

const edit = fc.record({
  day: fc.integer({ min: 1, max: 5 }),
  how: fc.constantFrom('add', 'change', 'remove'),
});

describe('a reader of the plain pattern', () => {
  it.each(['date', 'none'] as const)(
    'of a table partitioned by %s gets exactly one generation or an error, whenever the next ones come',
    async (rule) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 5 }),
          fc.array(fc.array(fc.nat(9), { minLength: 14, maxLength: 14 }), { minLength: 300, maxLength: 300 }),
          async (publishes, timings) => {
            const writer = await openLakeWriter(rule);
            await writer.database.run(
              `INSERT INTO main.items VALUES (1, '2026-01-01', 1), (2, '2026-01-02', 2)`,
            );
            await writer.publish();
            let id = 10;
            for (const edits of publishes) {
              for (const { day, how } of edits) {
                const date = `'2026-01-0${day}'::DATE`;
                if (how === 'add')
                  await writer.database.run(`INSERT INTO main.items VALUES (${(id += 1)}, ${date}, ${id})`);
                if (how === 'change')
                  await writer.database.run(
                    `UPDATE main.items SET amount = ${(id += 1)} WHERE date = ${date}`,
                  );
                if (how === 'remove')
                  await writer.database.run(`DELETE FROM main.items WHERE date = ${date}`);
              }
              await writer.publish();
            }
            const generations = await readGenerations(writer.lake, writer.generations());
            const versions = new Set(generations.map(({ content }) => content.join()));
            for (const timing of timings) {
              const moments = timing.map((at) => at % generations.length).toSorted((a, b) => a - b);
              const listing = Math.min(generations[moments[0] ?? 0]?.folders.size ?? 0, moments.length - 1);
              if (!isWithinPause(generations, moments[0] ?? 0, moments[listing] ?? 0)) continue;
              const got = read(generations, moments);
              if (got !== undefined) expect(versions, `at ${moments.join()}`).toContain(got.join());
            }
          },
        ),
        // A smaller example would take a lake for each step towards it.
        { numRuns: countRuns(6), endOnFailure: true },
      );
    },
  );

  it('would miss rows without the announcement of new folders', async () => {
    const writer = await openLakeWriter('date');
    await writer.database.run(`INSERT INTO main.items VALUES (1, '2026-01-01', 1)`);
    await writer.publish();
    await writer.database.run(`INSERT INTO main.items VALUES (2, '2026-01-02', 2)`);
    await writer.database.run('UPDATE main.items SET amount = 5 WHERE id = 1');
    await writer.publish();
    const generations = await readGenerations(writer.lake, writer.generations());
    expect(generations.map(({ isAnnouncement }) => isAnnouncement)).toEqual([false, true, false]);
    const unannounced = generations.filter(({ isAnnouncement }) => !isAnnouncement);
    // The folders are listed before the change, what is in them after it.
    const mixture = read(unannounced, [0, 1]);
    expect(mixture).toHaveLength(1);
    expect(unannounced.map(({ content }) => content.join())).not.toContain(mixture?.join());
    // With it, the one that saw the new folder fails on its empty file.
    expect(read(generations, [1, 1, 1, 1, 2])).toBeUndefined();
  });
});
