import fc from 'fast-check';
import { expect, it } from 'vitest';
import { retryQuarantine } from '../../src/commands/contracts/retry-quarantine.ts';
import type { StreamReport } from '../../src/model/run-report.ts';
import { createRowsFlow, dateOf, type Row, type RowsFlow } from '../support/rows-api.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';
import { streamOf } from '../support/sync-harness.ts';

// Random histories of rows that come late, are restated, leave the newest days, go to quarantine and come back. No row
// leaves older days: there the count could not tell one that left from one that came. So it has to be exact.

/** What happens to the source overnight; `at` chooses the row. */
interface Edit {
  readonly kind: 'restate' | 'break' | 'fix' | 'late' | 'late-broken' | 'leave';
  readonly at: number;
}

/** One day: the source changes, then a sync runs. */
interface Day {
  readonly edits: readonly Edit[];
  readonly sync: 'usual' | 'narrow' | 'full';
  readonly retry: boolean;
}

interface Item {
  readonly id: string;
  readonly day: number;
  readonly score: number;
  readonly broken: boolean;
}

const FIRST_DAY = -12;
const PER_DAY = 3;
/** No room for a full scan, so that a difference stays to be seen. */
const syncs = { usual: {}, narrow: { force: true, maxRequests: 8 }, full: { fullRefresh: true } } as const;

const edits = fc.record<Edit>({
  kind: fc.constantFrom('restate', 'break', 'break', 'fix', 'late', 'late-broken', 'leave'),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
});
const days = fc.record<Day>({
  edits: fc.array(edits, { maxLength: 4 }),
  sync: fc.constantFrom('usual', 'usual', 'usual', 'narrow', 'narrow', 'full'),
  retry: fc.integer({ min: 0, max: 5 }).map((at) => at === 0),
});

function begin(): readonly Item[] {
  return Array.from({ length: -FIRST_DAY + 1 }, (_, at) => bringDay(FIRST_DAY + at)).flat();
}

function bringDay(day: number): readonly Item[] {
  return Array.from({ length: PER_DAY }, (_, at) => ({ id: `${day}/${at}`, day, score: 0, broken: false }));
}

/** The source after a night. Only rows of the last two days leave: every sync reads these. */
function change(items: readonly Item[], { kind, at }: Edit, today: number): readonly Item[] {
  const pick = (among: readonly Item[]) => among[Math.floor(at * among.length)];
  const set = (item: Item | undefined, part: Partial<Item>) =>
    items.map((one) => (one === item ? { ...one, ...part } : one));
  switch (kind) {
    case 'restate':
      return set(pick(items), { score: today });
    case 'break':
      return set(pick(items), { broken: true, score: today });
    case 'fix':
      return set(pick(items.filter(({ broken }) => broken)), { broken: false, score: today });
    case 'leave': {
      const gone = pick(items.filter(({ day }) => day >= today - 1));
      return items.filter((one) => one !== gone);
    }
    default: {
      const day = today - 9 - Math.floor(at * 3);
      const id = `late ${items.length} ${today} ${at}`;
      return [...items, { id, day, score: 0, broken: kind === 'late-broken' }];
    }
  }
}

const toRow = ({ id, day, score, broken }: Item): Row => ({
  id,
  date: dateOf(day),
  score: broken ? `broken ${score}` : score,
});

/** How often each outcome came up: a proof that saw none of a kind proves nothing about it. */
const seen = { agreed: 0, differed: 0, quarantined: 0 };

/** A history in which each outcome comes up, as few random ones may lack one. */
const EACH_OUTCOME: readonly Day[] = [
  { edits: [{ kind: 'break', at: 0.99 }], sync: 'usual', retry: false },
  { edits: [{ kind: 'late', at: 0.5 }], sync: 'narrow', retry: false },
  { edits: [], sync: 'usual', retry: false },
];

/** Compares what a sync says with the source, the table and the quarantine. */
async function assertCounted({ flow }: RowsFlow, report: StreamReport, items: readonly Item[]) {
  const where = JSON.stringify(report, undefined, 1);
  const live = '_deleted_at' in (await flow.table('items')).columns ? 'WHERE _deleted_at IS NULL' : '';
  const rows = new Map(
    (await flow.query(`SELECT id, score FROM main.items ${live}`)).map(({ id, score }) => [
      String(id),
      Number(score),
    ]),
  );
  const held = await flow.query(
    `SELECT record->>'id' AS id FROM _sluice.quarantine WHERE absent_since IS NULL`,
  );
  const quarantined = new Set(held.map(({ id }) => String(id)));
  if (quarantined.size > 0) seen.quarantined += 1;
  if (report.status !== 'complete' || report.verdict !== 'verified') return;
  if (report.mode === 'full') {
    const wrong = items.filter(({ id, score, broken }) => !broken && rows.get(id) !== score);
    expect(wrong, where).toEqual([]);
    return;
  }
  if (report.difference === undefined) return;
  const missing = items.filter(({ id }) => !rows.has(id) && !quarantined.has(id));
  expect({ difference: report.difference, missing: missing.map(({ id }) => id) }, where).toMatchObject({
    difference: missing.length,
  });
  seen[missing.length === 0 ? 'agreed' : 'differed'] += 1;
}

it('a count is exactly what the table lacks, whatever is in quarantine', { timeout: 1_800_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('keep', 'soft', 'hard'),
      fc.array(days, { minLength: 3, maxLength: 9 }),
      async (deletes, history) => {
        let items = begin();
        const api = createRowsFlow(
          { rows: () => items.toSorted((one, other) => one.day - other.day).map(toRow) },
          {
            key: ['id'],
            cursor: { field: 'date', param: 'startDate' },
            contract: { types: 'discard_row' },
            maxInvalidRatio: 0.9,
            maxDeleteRatio: 1,
            pageSize: 10,
            deletes,
          },
        );
        expect((await api.syncAfter(0)).exitCode).toBe(0);
        for (const [at, { edits: overnight, sync, retry }] of history.entries()) {
          const today = at + 1;
          items = [...items, ...bringDay(today)];
          for (const edit of overnight) items = change(items, edit, today);
          const report = await api.syncAfter(1, syncs[sync]);
          expect([0, 4, 75], report.error?.message).toContain(report.exitCode);
          await assertCounted(api, streamOf(report), items);
          if (retry) await retryQuarantine(api.flow.settings(), { clock: api.flow.clock });
        }
        // The first sync with room for it reads in full what a count misses.
        const last = history.length + 1;
        items = [...items, ...bringDay(last)];
        await assertCounted(api, streamOf(await api.syncAfter(1)), items);
        const { difference, mode } = streamOf(await api.syncAfter(1));
        expect(mode === 'full' || difference === 0).toBe(true);
      },
    ),
    { numRuns: countRuns(6), examples: [['keep', [...EACH_OUTCOME]]], endOnFailure: true },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(leastSeen(0));
});
