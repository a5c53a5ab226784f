import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePage, type Server } from './drive-coverage.ts';
import { driveScan } from './drive-scan.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';

interface Row {
  readonly id: number;
  /** The refresh that wrote it. */
  readonly stamp: number;
}

type Kind = 'insert' | 'delete' | 'move' | 'restate' | 'refresh';

interface Operation {
  /** The request it comes before, counted from 0. */
  readonly at: number;
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
}

/** Applies an operation to the dataset; `next` gives ids that no row ever had. */
function apply(rows: readonly Row[], { kind, from, to }: Operation, next: () => number): readonly Row[] {
  const changed = [...rows];
  const index = from % Math.max(1, rows.length);
  switch (kind) {
    case 'insert':
      changed.splice(from % (rows.length + 1), 0, { id: next(), stamp: rows[0]?.stamp ?? 0 });
      return changed;
    case 'delete':
      changed.splice(index, 1);
      return changed;
    case 'move': {
      const [row] = changed.splice(index, 1);
      if (row !== undefined) changed.splice(to % (changed.length + 1), 0, row);
      return changed;
    }
    case 'restate':
      return changed.map((row, at) => (at === index ? { ...row, stamp: row.stamp + 1_000 } : row));
    case 'refresh': {
      // Every row is rewritten; some go, and as many come, so that the total reveals nothing.
      const kept = changed.slice(to % 3).map(({ id }) => id);
      const ids = [...Array.from({ length: rows.length - kept.length }, next), ...kept];
      return ids.map((id) => ({ id, stamp: from + 10_000 }));
    }
  }
}

/** The dataset at each request. */
function listVersions(count: number, operations: readonly Operation[]): (n: number) => readonly Row[] {
  let rows: readonly Row[] = Array.from({ length: count }, (_, id) => ({ id, stamp: 0 }));
  let id = 1_000;
  const versions: (readonly Row[])[] = [];
  for (let n = 0; n < 80; n += 1) {
    for (const operation of operations.filter(({ at }) => at === n))
      rows = apply(rows, operation, () => id++);
    versions.push(rows);
  }
  return (n) => versions[Math.min(n, versions.length - 1)] ?? [];
}

function serve(rowsAt: (n: number) => readonly Row[], pageSize: number): Server {
  return (offset, n) => {
    const rows = rowsAt(n);
    const page = rows.slice(offset, offset + pageSize);
    return makePage(offset, page, rows.length, offset + page.length < rows.length);
  };
}

function operations(...kinds: readonly Kind[]): fc.Arbitrary<readonly Operation[]> {
  const operation = fc.record({
    at: fc.integer({ min: 1, max: 14 }),
    kind: fc.constantFrom(...kinds),
    from: fc.nat({ max: 80 }),
    to: fc.nat({ max: 80 }),
  });
  // One operation between two requests: each at another of them.
  return fc.uniqueArray(operation, { maxLength: 5, selector: ({ at }) => at });
}

const shape = fc.record({
  count: fc.integer({ min: 1, max: 60 }),
  pageSize: fc.integer({ min: 3, max: 9 }),
  delays: fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 6 }),
});
const concurrency = fc.integer({ min: 1, max: 6 });

const textsOf = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted();
const idsOf = (values: readonly unknown[]) => values.map((row) => (row as Row).id);
const isDistinct = (values: readonly unknown[]) => new Set(idsOf(values)).size === values.length;
/** Most requests of one pass: its pages, three repairs, two more questions at an end, the head. */
const boundOf = (count: number, pageSize: number, inFlight: number) =>
  Math.ceil((count + 10) / (pageSize - 1)) + 6 + 8 + inFlight;

describe('rows that come, go and move, one operation between two requests', () => {
  it('make a verified scan one version of the dataset, when its pages are asked for one by one', async () => {
    const seen = { verified: 0, verifiedThoughMoved: 0, drifted: 0 };
    await fc.assert(
      fc.asyncProperty(shape, operations('insert', 'delete', 'move'), async ({ count, ...how }, moves) => {
        const rowsAt = listVersions(count, moves);
        const drive = await driveScan(serve(rowsAt, how.pageSize), { ...how, concurrency: 1 });
        expect(drive.requests).toBeLessThanOrEqual(boundOf(count, how.pageSize, 1));
        if (drive.verdict !== 'verified') {
          seen.drifted += 1;
          return;
        }
        // Two requests and two operations can show a row twice: then fewer rows are distinct than declared.
        if (!isDistinct(drive.values)) return;
        seen.verified += 1;
        if (moves.some(({ at }) => at < drive.requests)) seen.verifiedThoughMoved += 1;
        expect(textsOf(drive.values)).toEqual(textsOf(rowsAt(drive.requests - 1)));
      }),
      { numRuns: countRuns(3_000) },
    );
    expect(Math.min(seen.verified, seen.verifiedThoughMoved, seen.drifted)).toBeGreaterThan(leastSeen(30));
  });

  it('make it one version as well when many pages are on their way at once, if its keys are distinct', async () => {
    let verified = 0;
    await fc.assert(
      fc.asyncProperty(
        shape,
        concurrency,
        operations('insert', 'delete', 'move'),
        async ({ count, ...how }, inFlight, moves) => {
          const rowsAt = listVersions(count, moves);
          const drive = await driveScan(serve(rowsAt, how.pageSize), { ...how, concurrency: inFlight });
          expect(drive.requests).toBeLessThanOrEqual(boundOf(count, how.pageSize, inFlight));
          if (drive.verdict !== 'verified' || !isDistinct(drive.values)) return;
          verified += 1;
          expect(textsOf(drive.values)).toEqual(textsOf(rowsAt(drive.requests - 1)));
        },
      ),
      { numRuns: countRuns(3_000) },
    );
    expect(verified).toBeGreaterThan(leastSeen(30));
  });
});

describe('any change of the dataset, any number of them at once', () => {
  const anything = fc.array(
    fc.record({
      at: fc.integer({ min: 1, max: 14 }),
      kind: fc.constantFrom<Kind>('insert', 'delete', 'move', 'restate', 'refresh'),
      from: fc.nat({ max: 80 }),
      to: fc.nat({ max: 80 }),
    }),
    { maxLength: 8 },
  );

  it('leaves no net shift at a joint of a verified scan, nor a position without a row', async () => {
    let verified = 0;
    await fc.assert(
      fc.asyncProperty(shape, concurrency, anything, async ({ count, ...how }, inFlight, moves) => {
        const rowsAt = listVersions(count, moves);
        const answers: { readonly offset: number; readonly rows: readonly Row[] }[] = [];
        const serveRows = serve(rowsAt, how.pageSize);
        const drive = await driveScan(
          (offset, n) => {
            answers[n] = { offset, rows: rowsAt(n).slice(offset, offset + how.pageSize) };
            return serveRows(offset, n);
          },
          { ...how, concurrency: inFlight },
        );
        expect(drive.requests).toBeLessThanOrEqual(boundOf(count + 8, how.pageSize, inFlight));
        if (drive.verdict !== 'verified') return;
        verified += 1;
        expect(drive.values.filter((value) => value === undefined)).toEqual([]);
        // Each page that was taken in lies in the result as it was answered, its first row included.
        const taken = answers.filter(({ offset, rows }) =>
          rows.every((row, at) => JSON.stringify(row) === JSON.stringify(drive.values[offset + at])),
        );
        const covered = new Set(taken.flatMap(({ offset, rows }) => rows.map((_, at) => offset + at)));
        expect(covered.size).toBe(drive.values.length);
      }),
      { numRuns: countRuns(2_000) },
    );
    expect(verified).toBeGreaterThan(leastSeen(30));
  });

  it('by a refresh of every row never leaves rows of two refreshes in a verified scan', async () => {
    const seen = { verified: 0, refreshedInScan: 0 };
    await fc.assert(
      fc.asyncProperty(
        shape,
        concurrency,
        operations('refresh'),
        async ({ count, ...how }, inFlight, moves) => {
          const rowsAt = listVersions(count, moves);
          const drive = await driveScan(serve(rowsAt, how.pageSize), { ...how, concurrency: inFlight });
          if (moves.some(({ at }) => at < drive.requests)) seen.refreshedInScan += 1;
          if (drive.verdict !== 'verified') return;
          seen.verified += 1;
          expect(new Set(drive.values.map((row) => (row as Row).stamp)).size).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: countRuns(2_000) },
    );
    expect(Math.min(seen.verified, seen.refreshedInScan)).toBeGreaterThan(leastSeen(30));
  });

  it('with replicas that answer from two refreshes in turn neither', async () => {
    const replicas = fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 12 });
    const seen = { verified: 0, repaired: 0 };
    await fc.assert(
      fc.asyncProperty(shape, concurrency, replicas, async ({ count, ...how }, inFlight, turns) => {
        const old = Array.from({ length: count }, (_, id) => ({ id, stamp: 0 }));
        const fresh = old.map(({ id }) => ({ id, stamp: 1 }));
        const rowsAt = (n: number) => (turns[n % turns.length] === 0 ? old : fresh);
        const drive = await driveScan(serve(rowsAt, how.pageSize), { ...how, concurrency: inFlight });
        if (drive.verdict !== 'verified') return;
        seen.verified += 1;
        if (drive.pagesAgain) seen.repaired += 1;
        expect(new Set(drive.values.map((row) => (row as Row).stamp)).size).toBe(1);
      }),
      { numRuns: countRuns(2_000) },
    );
    expect(Math.min(seen.verified, seen.repaired)).toBeGreaterThan(leastSeen(10));
  });
});

describe('what one scan cannot see', () => {
  it('is a row restated between the joints: the scan is verified, and holds its old value', async () => {
    const before: readonly Row[] = Array.from({ length: 40 }, (_, id) => ({ id, stamp: 0 }));
    const after = before.map((row) => (row.id === 14 ? { ...row, stamp: 1 } : row));
    const drive = await driveScan(
      serve((n) => (n < 3 ? before : after), 10),
      { pageSize: 10, concurrency: 1, delays: [0] },
    );
    expect(drive.verdict).toBe('verified');
    expect(drive.values[14]).toEqual({ id: 14, stamp: 0 });
  });

  it('is a shift among rows that are equal in every field', async () => {
    const rows = (extra: number) => [
      ...(extra === 0 ? [{ id: 7 }] : []),
      ...Array.from({ length: 30 }, () => ({ id: 1 })),
      ...(extra === 0 ? [] : [{ id: 7 }]),
    ];
    const drive = await driveScan(
      (offset, n) => {
        const now = rows(n === 0 || offset === 0 ? 0 : 1);
        const page = now.slice(offset, offset + 10);
        return makePage(offset, page, now.length, offset + page.length < now.length);
      },
      { pageSize: 10, concurrency: 1, delays: [0] },
    );
    expect(drive.verdict).toBe('verified');
    expect(isDistinct(drive.values)).toBe(false);
  });
});
