import { describe, expect, it } from 'vitest';
import type { ArchivedScan } from '../../src/archive/archived-scan.ts';
import { type Chain, findChain, findNeeded } from '../../src/archive/find-chain.ts';
import { findPrunable } from '../../src/archive/prune-archive.ts';
import { makeArchived, makeIncremental } from './archived-scans.ts';

const runsOf = (scans: Iterable<ArchivedScan>) => [...scans].map(({ runId }) => runId);
const describeChain = (chain: Chain) => (chain.kind === 'whole' ? runsOf(chain.scans) : chain.reason);

describe('the chain of archived scans', () => {
  const month = [
    makeArchived(1),
    makeIncremental(2),
    makeArchived(3),
    makeIncremental(4),
    makeIncremental(5),
  ];

  it('goes back as far as it is unbroken', () => {
    expect(describeChain(findChain(month, 'r5'))).toEqual(['r1', 'r2', 'r3', 'r4', 'r5']);
  });

  it('begins with a scan of everything', () => {
    expect(describeChain(findChain(month.slice(1), 'r5'))).toEqual(['r3', 'r4', 'r5']);
  });

  it('ends with the last commit', () => {
    expect(describeChain(findChain(month, 'r6'))).toBe(
      'the scan of run r6, the last one committed, is not archived',
    );
    expect(describeChain(findChain(month, 'r4'))).toEqual(['r1', 'r2', 'r3', 'r4']);
  });

  it('without a checkpoint ends with what is newest', () => {
    expect(describeChain(findChain(month, undefined))).toEqual(['r1', 'r2', 'r3', 'r4', 'r5']);
  });

  it('is broken where a scan is missing, up to the next one of everything', () => {
    const without = (runId: string) => month.filter((scan) => scan.runId !== runId);
    expect(describeChain(findChain(without('r2'), 'r5'))).toEqual(['r3', 'r4', 'r5']);
    expect(describeChain(findChain(without('r4'), 'r5'))).toBe(
      'the scan of run r4 is not archived, and none after it read the whole stream',
    );
  });

  it.each<[string, Partial<ArchivedScan>]>([
    ['drifted', { verdict: 'drifted' }],
    ['of a part', { verdict: 'partial', options: { limit: 10 } }],
    ['limited, and whole by chance', { options: { limit: 10 } }],
  ])('does not begin with a scan that was %s', (_, changes) => {
    expect(describeChain(findChain([makeArchived(1, changes), makeIncremental(2)], 'r2'))).toBe(
      'no scan of the whole stream is archived',
    );
  });

  it('does not go back to where something else was asked', () => {
    const moved = [makeArchived(1, { address: 'b' }), makeArchived(2), makeIncremental(3)];
    expect(describeChain(findChain(moved, 'r3'))).toEqual(['r2', 'r3']);
  });

  it('takes the later one where a run loaded a stream twice', () => {
    const again = makeArchived(1, { loadedAtMs: 86_400_000 + 5_000 });
    const chain = findChain([makeArchived(1), again], 'r1');
    expect(chain).toEqual({ kind: 'whole', scans: [again] });
  });

  it('ends where scans name each other', () => {
    const loop = [makeIncremental(1, { previousRunId: 'r2' }), makeIncremental(2)];
    expect(findChain(loop, 'r2').kind).toBe('broken');
  });

  it('is there from the newest scan of everything on, for those who need it', () => {
    expect(runsOf(findNeeded(month, 'r5'))).toEqual(['r3', 'r4', 'r5']);
    expect(runsOf(findNeeded(month, 'r9'))).toEqual([]);
  });

  describe('is pruned', () => {
    const beforeMs = 86_400_000 * 5;
    const rules = { beforeMs, lastRunId: 'r5', masks: {} };

    it('by age, but for what a rebuild needs', () => {
      expect(runsOf(findPrunable(month, rules))).toEqual(['r1', 'r2']);
    });

    it('by age alone once it is broken', () => {
      const broken = month.filter(({ runId }) => runId !== 'r4');
      expect(runsOf(findPrunable(broken, rules))).toEqual(['r1', 'r2', 'r3']);
    });

    it('of pages masked otherwise once everything was read again', () => {
      const masks = { email: 'exclude' };
      const masked = [...month, makeArchived(6, { masks }), makeIncremental(7, { masks })];
      const young = { beforeMs: 0, lastRunId: 'r7', masks };
      expect(runsOf(findPrunable(masked, young))).toEqual(['r1', 'r2', 'r3', 'r4', 'r5']);
      expect(runsOf(findPrunable(month, young))).toEqual([]);
    });
  });
});
