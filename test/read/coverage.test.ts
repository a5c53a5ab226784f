import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Coverage } from '../../src/read/coverage.ts';
import { driveCoverage, type Drive, makePage, type Server, serveRows, toStaged } from './drive-coverage.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';

function ids(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at);
}

/** Every position once, with the record that is there. */
function expectWhole(kept: Drive['kept'], rows: readonly unknown[]): void {
  const sorted = kept.toSorted(([a], [b]) => a - b);
  expect(sorted).toEqual(rows.map((row, at) => [at, row]));
}

/** Least requests for so many rows in pages that overlap by one. */
function countPages(rows: number, page: number): number {
  return rows <= page ? 1 : 1 + Math.ceil((rows - page) / (page - 1));
}

const picks = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 20 });
const concurrency = fc.integer({ min: 1, max: 8 });
const pageSize = fc.integer({ min: 2, max: 12 });
const rowCount = fc.integer({ min: 0, max: 120 });
const tellsTotal = fc.boolean();

describe('a dataset that keeps still', () => {
  it('is covered once, with the least requests, whatever the server caps pages at and who answers first', () => {
    const cap = fc.integer({ min: 2, max: 20 });
    fc.assert(
      fc.property(
        fc.record({ rowCount, pageSize, cap, tellsTotal, concurrency, picks }),
        ({ rowCount, cap, tellsTotal, ...how }) => {
          const size = Math.min(cap, how.pageSize);
          const drive = driveCoverage(
            serveRows(() => ids(rowCount), { sizes: [size], tellsTotal }),
            how,
          );
          const { coverage } = drive;
          expectWhole(drive.kept, ids(rowCount));
          expect(coverage.complete).toBe(true);
          expect(coverage.problems).toEqual([]);
          expect([coverage.rows, coverage.pages]).toEqual([rowCount, drive.requests]);
          expect(drive.requests).toBe(countPages(rowCount, size));
        },
      ),
      { numRuns: countRuns(1_500) },
    );
  });

  it('is covered once when pages are short or long as it pleases the server, and requests fail', () => {
    const sizes = fc.array(fc.integer({ min: 2, max: 30 }), { minLength: 1, maxLength: 8 });
    const failing = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(
        fc.record({ rowCount, pageSize, sizes, tellsTotal, concurrency, picks, failing }),
        ({ rowCount, sizes, tellsTotal, failing, ...how }) => {
          const fails = (n: number) => n < 40 && failing[n % failing.length] === true;
          const server = serveRows(() => ids(rowCount), { sizes, tellsTotal });
          const drive = driveCoverage(server, { ...how, fails, mostRequests: 400 });
          expect(drive.ended).toBe(true);
          expectWhole(drive.kept, ids(rowCount));
          expect(drive.coverage.complete).toBe(true);
          expect(drive.coverage.problems).toEqual([]);
          // Every answer but the last brings a new record.
          expect(drive.answers.length).toBeLessThanOrEqual(Math.max(1, rowCount));
        },
      ),
      { numRuns: countRuns(1_500) },
    );
  });

  it('is covered once when a page comes empty, or without anything new, and is whole the next time', () => {
    fc.assert(
      fc.property(
        fc.record({ rowCount, pageSize, tellsTotal, concurrency, picks }),
        ({ rowCount, tellsTotal, ...how }) => {
          const asked = new Set<number>();
          const server: Server = (offset, n) => {
            const whole = serveRows(() => ids(rowCount), { sizes: [how.pageSize], tellsTotal })(offset, n);
            const first = !asked.has(offset);
            asked.add(offset);
            if (!first || rowCount === 0) return whole;
            return { ...whole, records: whole.records.slice(0, offset % 2), hasMore: true };
          };
          const drive = driveCoverage(server, { ...how, mostRequests: 1_000 });
          expectWhole(drive.kept, ids(rowCount));
          expect(drive.coverage.problems).toEqual([]);
          expect(drive.coverage.complete).toBe(true);
        },
      ),
      { numRuns: countRuns(500) },
    );
  });

  it('is planned page by page as soon as the total is known', () => {
    const coverage = new Coverage(10);
    expect(coverage.pagesPlanned).toBeUndefined();
    const server = serveRows(() => ids(100), { sizes: [7], tellsTotal: true });
    for (let segment = coverage.takeSegment(); segment !== undefined; segment = coverage.takeSegment()) {
      coverage.accept(segment, server(segment.start, 0));
      expect(coverage.pagesPlanned).toBe(countPages(100, 7));
      expect(coverage.total).toBe(100);
    }
    expect(coverage.pages).toBe(countPages(100, 7));
  });

  it('of equal records is covered as often as they come', () => {
    const rows = Array.from({ length: 50 }, () => ({ v: 1 }));
    const drive = driveCoverage(
      serveRows(() => rows, { sizes: [10], tellsTotal: true }),
      { pageSize: 10 },
    );
    expectWhole(drive.kept, rows);
    expect(drive.coverage.problems).toEqual([]);
  });

  it('that is empty is complete after one request', () => {
    for (const total of [0, undefined]) {
      const drive = driveCoverage((offset) => makePage(offset, [], total, false), { pageSize: 10 });
      expect(drive.requests).toBe(1);
      expect(drive.coverage.complete).toBe(true);
      expect(drive.coverage.problems).toEqual([]);
    }
  });
});

type Move = {
  readonly at: number;
  readonly kind: 'insert' | 'delete' | 'swap' | 'none';
  readonly where: number;
};

/** The dataset as it is when request `n` is answered: moves come one by one between requests. */
function replayMoves(count: number, moves: readonly Move[]): (n: number) => readonly number[] {
  const versions: (readonly number[])[] = [];
  const rows = [...ids(count)];
  let next = 10_000;
  for (let n = 0; n < 60; n += 1) {
    for (const { kind, where } of moves.filter(({ at }) => at === n)) {
      const index = where % (rows.length + 1);
      if (kind === 'insert') rows.splice(index, 0, next++);
      if (kind === 'delete') rows.splice(index, 1);
      const [a, b] = [rows[index], rows[(index + 3) % Math.max(1, rows.length)]];
      if (kind === 'swap' && a !== undefined && b !== undefined) {
        rows[index] = b;
        rows[(index + 3) % rows.length] = a;
      }
    }
    versions.push([...rows]);
  }
  return (n) => versions[Math.min(n, versions.length - 1)] ?? [];
}

function moves(...kinds: readonly Move['kind'][]): fc.Arbitrary<readonly Move[]> {
  const move = fc.record({
    at: fc.integer({ min: 1, max: 12 }),
    kind: fc.constantFrom(...kinds),
    where: fc.nat({ max: 60 }),
  });
  return fc.array(move, { maxLength: 4 });
}

const scan = fc.record({
  count: fc.integer({ min: 5, max: 50 }),
  pageSize: fc.integer({ min: 3, max: 10 }),
  sizes: fc.array(fc.integer({ min: 2, max: 10 }), { minLength: 1, maxLength: 4 }),
  tellsTotal,
  concurrency,
  picks,
});

describe('a dataset that moves while it is read', () => {
  it('by inserts and deletes never ends without a problem when a record that stayed is lost or comes twice', () => {
    const seen = { clean: 0, moved: 0, problems: 0 };
    fc.assert(
      fc.property(scan, moves('insert', 'delete', 'none'), ({ count, sizes, tellsTotal, ...how }, moves) => {
        const rowsAt = replayMoves(count, moves);
        const drive = driveCoverage(serveRows(rowsAt, { sizes, tellsTotal }), { ...how, mostRequests: 300 });
        expect(drive.ended).toBe(true);
        if (drive.coverage.problems.length > 0) seen.problems += 1;
        if (!drive.coverage.complete || drive.coverage.problems.length > 0) return;
        seen.clean += 1;
        const versions = drive.answers.map((_, n) => new Set(rowsAt(n)));
        if (versions.some((version) => version.size !== count)) seen.moved += 1;
        const values = drive.kept.map(([, value]) => value);
        expect(new Set(values).size).toBe(values.length);
        for (const row of ids(count)) {
          if (versions.every((version) => version.has(row))) expect(values).toContain(row);
        }
      }),
      { numRuns: countRuns(2_500) },
    );
    // The property speaks about scans of each sort.
    expect(Math.min(seen.clean, seen.moved, seen.problems)).toBeGreaterThan(leastSeen(15));
  });

  it('in any way never ends without a problem when two pages disagree about a record, or about the total', () => {
    const seen = { agree: 0, differ: 0 };
    fc.assert(
      fc.property(scan, moves('insert', 'delete', 'swap'), ({ count, sizes, tellsTotal, ...how }, moves) => {
        const rowsAt = replayMoves(count, moves);
        const drive = driveCoverage(serveRows(rowsAt, { sizes, tellsTotal }), { ...how, mostRequests: 300 });
        // Worked out from the answers alone: what each page kept last is what the next one begins with.
        const firsts = drive.answers.map(
          ({ segment, page }) => [segment.start, page.records[0]?.value] as const,
        );
        const lasts = drive.accepted
          .filter(({ kept }) => kept.length > 0)
          .map(({ firstPosition, kept }) => [firstPosition + kept.length - 1, kept.at(-1)?.value] as const);
        const differ =
          lasts.some(([position, value]) =>
            firsts.some(([start, first]) => start === position && first !== undefined && first !== value),
          ) || new Set(drive.answers.map(({ page }) => page.total)).size > 1;
        seen[differ ? 'differ' : 'agree'] += 1;
        if (differ) expect(drive.coverage.problems).not.toEqual([]);
      }),
      { numRuns: countRuns(2_000) },
    );
    expect(Math.min(seen.agree, seen.differ)).toBeGreaterThan(leastSeen(100));
  });

  it('is found out when a page that brought nothing new is asked for again and no longer fits', () => {
    const before = ids(30);
    // Row 12 goes and another comes at the end: the total stays.
    const after = [...before.filter((id) => id !== 12), 99];
    let timesAt18 = 0;
    const drive = driveCoverage(
      (offset) => {
        if (offset === 18) timesAt18 += 1;
        const rows = timesAt18 < 2 ? before : after;
        const size = offset === 18 && timesAt18 === 1 ? 1 : 10;
        return makePage(offset, rows.slice(offset, offset + size), 30, true);
      },
      { pageSize: 10 },
    );
    expect(drive.coverage.problems).toEqual(['the record at position 18 differs between two pages']);
  });

  it('is found out when it shrank below what was read, and no total tells', () => {
    const server: Server = (offset, n) => {
      const rows = n < 2 ? ids(20) : ids(20).slice(3);
      return makePage(offset, rows.slice(offset, offset + 10), undefined, offset + 10 < rows.length);
    };
    const drive = driveCoverage(server, { pageSize: 10 });
    expect(drive.kept.length).toBeLessThan(20);
    expect(drive.coverage.problems).toEqual([
      'no record was returned after position 18, although the data continued there',
    ]);
  });

  it.each([
    [12, 11, 'the declared total changed from 11 to 12'],
    [undefined, 11, 'the declared total changed from 11 to none'],
  ])('is found out by a total of %s after %i', (later, first, problem) => {
    const server: Server = (offset) =>
      makePage(offset, ids(11).slice(offset, offset + 6), offset === 0 ? first : later, offset === 0);
    expect(driveCoverage(server, { pageSize: 6 }).coverage.problems).toContain(problem);
  });

  it('is found out by more records than the total', () => {
    const drive = driveCoverage((offset) => makePage(offset, ids(8), 5, false), { pageSize: 10 });
    expect(drive.coverage.problems).toEqual(['8 records were received of 5 declared']);
  });
});

describe('a server that lies', () => {
  const endless = { pageSize: 10, concurrency: 4, mostRequests: 500 };

  it.each<readonly [string, Server, number]>([
    ['declares 10^15 records and has 30', (o) => makePage(o, ids(30).slice(o, o + 10), 1e15, true), 30],
    ['declares 2^53 - 1 records and has none', (o) => makePage(o, [], Number.MAX_SAFE_INTEGER, true), 5],
    ['announces more for ever and has 30', (o) => makePage(o, ids(30).slice(o, o + 10), undefined, true), 10],
    ['announces more for ever and has none', (o) => makePage(o, [], undefined, true), 5],
    ['ignores the offset', (o) => makePage(o, ids(10), undefined, true), 60],
    ['ignores the offset and declares 1,000', (o) => makePage(o, ids(10), 1_000, true), 250],
    [
      'answers A, B, A, B',
      (o, n) =>
        makePage(
          o,
          ids(10).map((id) => id + (n % 2) * 50),
          undefined,
          true,
        ),
      60,
    ],
    ['caps pages at one record', (o) => makePage(o, ids(30).slice(o, o + 1), 30, true), 30],
    ['stops early', (o) => makePage(o, ids(15).slice(o, o + 10), 30, o === 0), 15],
    ['forgets its records', (o) => makePage(o, o === 0 ? ids(10) : [], 95, o === 0), 20],
  ])('and %s is found out in few requests', (_, server, most) => {
    const drive = driveCoverage(server, endless);
    expect(drive.ended).toBe(true);
    expect(drive.coverage.problems).not.toEqual([]);
    expect(drive.requests).toBeLessThanOrEqual(most);
  });

  it('in any way comes to an end', () => {
    const answer = fc.record({
      values: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
      total: fc.option(fc.constantFrom(0, 1, 5, 40, 100), { nil: undefined }),
      hasMore: fc.option(fc.boolean(), { nil: undefined }),
    });
    const answers = fc.array(answer, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.record({ answers, pageSize, concurrency, picks }), ({ answers, ...how }) => {
        const server: Server = (offset, n) => {
          const { values, total, hasMore } = answers[n % answers.length] ?? {
            values: [],
            total: 0,
            hasMore: false,
          };
          return makePage(offset, values, total, hasMore);
        };
        const drive = driveCoverage(server, { ...how, mostRequests: 2_000 });
        // Coherent pages without an end are data, not lies.
        fc.pre(drive.ended || drive.coverage.problems.length * 2 > drive.coverage.pages);
        expect(drive.ended).toBe(true);
      }),
      { numRuns: countRuns(1_500) },
    );
  });
});

describe('a scan that continues from staged pages', () => {
  it('ends in the same coverage, from any of them that hold the first', () => {
    const chosen = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });
    const sizes = fc.array(fc.integer({ min: 2, max: 12 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.record({ rowCount, pageSize, sizes, tellsTotal, concurrency, picks, chosen }),
        ({ rowCount, sizes, tellsTotal, chosen, ...how }) => {
          const rows = ids(rowCount);
          const server = serveRows(() => rows, { sizes, tellsTotal });
          const whole = driveCoverage(server, how);
          // Without a total one page follows the other, so only a beginning can have been staged.
          const cut = chosen.length % (whole.accepted.length + 1);
          const staged = whole.accepted.filter(({ offset }, at) =>
            offset === 0 ? true : tellsTotal ? chosen[at % chosen.length] : at < cut,
          );
          const coverage = new Coverage(how.pageSize);
          coverage.resume(server(0, 0), staged.map(toStaged));
          const drive = driveCoverage(server, { ...how, coverage });

          expect(coverage.complete).toBe(true);
          expect(coverage.problems).toEqual([]);
          expect(coverage.rows).toBe(rowCount);
          const kept = staged.flatMap(({ firstPosition, kept }) =>
            kept.map(({ value }, at) => [firstPosition + at, value] as const),
          );
          expectWhole([...kept, ...drive.kept], rows);
          expect(coverage.headHash).toBe(whole.coverage.headHash);
        },
      ),
      { numRuns: countRuns(1_500) },
    );
  });

  it('asks for nothing when everything was staged', () => {
    const server = serveRows(() => ids(95), { sizes: [10], tellsTotal: true });
    const { accepted } = driveCoverage(server, { pageSize: 10 });
    const coverage = new Coverage(10);
    coverage.resume(server(0, 0), accepted.map(toStaged));
    expect(coverage.takeSegment()).toBeUndefined();
    expect([coverage.complete, coverage.rows, coverage.pagesPlanned]).toEqual([true, 95, accepted.length]);
  });

  it('finds out that the data moved since', () => {
    const before = serveRows(() => ids(95), { sizes: [10], tellsTotal: true });
    const { accepted } = driveCoverage(before, { pageSize: 10 });
    const moved = [...ids(95).filter((id) => id !== 50), 1_000];
    const after = serveRows(() => moved, { sizes: [10], tellsTotal: true });
    const coverage = new Coverage(10);
    coverage.resume(after(0, 0), accepted.filter((_, at) => at < 4 || at === 8).map(toStaged));
    const drive = driveCoverage(after, { pageSize: 10, coverage });
    expect(drive.coverage.problems).not.toEqual([]);
  });

  it('begins at the first record when only an empty head was staged', () => {
    for (const total of [30, undefined]) {
      const coverage = new Coverage(10);
      const head = {
        offset: 0,
        firstPosition: 0,
        rows: 0,
        firstHash: undefined,
        lastHash: undefined,
        total,
        textHash: undefined,
      };
      coverage.resume(makePage(0, [], total, true), [head]);
      const drive = driveCoverage(
        serveRows(() => ids(30), { sizes: [10], tellsTotal: total !== undefined }),
        {
          pageSize: 10,
          coverage,
        },
      );
      expect(Math.min(...drive.answers.map(({ segment }) => segment.start))).toBe(0);
      expectWhole(drive.kept, ids(30));
    }
  });
});
