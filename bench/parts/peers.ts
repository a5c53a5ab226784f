import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type PageServer, serve } from '../support/children.ts';
import { type Finding, type PartOptions, writeCount, writeNumber } from '../support/finding.ts';
import { type CommandCost, measureCommands } from '../support/measured-commands.ts';
import { type Left, type Peer, type PeerTool, preparePeers } from '../support/peer-tools.ts';

/** A tool from its start to its end, once. */
interface Round extends CommandCost {
  readonly name: string;
  readonly requests: number;
  /** Undefined where nothing is kept. */
  readonly left: Left | undefined;
}

/** A round, or why it came to nothing. */
type Outcome = Round | { readonly name: string; readonly problem: string };

/** What is used for all of the tools. */
interface Place {
  readonly python: string;
  readonly pages: PageServer;
  readonly folder: string;
}

const head = [
  '',
  'elapsed, s',
  'CPU s',
  'rows/s',
  'peak memory, MB',
  'requests',
  'rows in the table',
  'times Sluice',
];

/** Sluice next to other tools and the floor: whole processes that read the same pages. */
export async function measurePeers(options: PartOptions): Promise<readonly Finding[]> {
  const rows = options.size ?? 100_000;
  options.say('peers: Python environments');
  const { python, floor, sluice, others } = preparePeers(options.build, rows);
  const peers: readonly Peer[] = [floor, sluice, ...others];
  const names = peers.map(({ name }) => name);
  if (python === undefined) {
    const problem = 'there is no Python to measure it with';
    const outcomes = peers.map(({ name, ...peer }) => ({ name, problem, ...peer }));
    return [tabulate(rows, { names, own: sluice.name, outcomes })];
  }
  const pages = await serve(options.build.script('serve-pages'), [String(rows), 'nested']);
  try {
    const outcomes: Outcome[] = [];
    // Each once in a round, so that what else the machine does disturbs all of them alike.
    for (let at = 1; at <= (options.repeats ?? 2); at += 1)
      for (const peer of peers) {
        options.say(`peers: ${writeCount(rows)} rows, round ${at}, ${peer.name}`);
        outcomes.push(await tryPeer(peer, { python, pages, folder: options.folder }));
      }
    return [tabulate(rows, { names, own: sluice.name, outcomes })];
  } finally {
    pages.stop();
  }
}

/** A tool that does not run must not cost the numbers of the others. */
async function tryPeer(peer: Peer, place: Place): Promise<Outcome> {
  if ('problem' in peer) return peer;
  try {
    return await measurePeer(peer, place);
  } catch (error) {
    return { name: peer.name, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function measurePeer(peer: PeerTool, { python, pages, folder: parent }: Place): Promise<Round> {
  const folder = join(parent, 'peer');
  mkdirSync(folder);
  try {
    // Whatever the last one asked for is not this one's.
    await pages.tell({});
    const commands = peer.commands({ origin: pages.origin, folder });
    const cost = await measureCommands(commands, { python, folder });
    const { requests } = await pages.tell<{ readonly requests: number }>({});
    return { name: peer.name, ...cost, requests, left: await peer.count?.(folder) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Found {
  readonly names: readonly string[];
  /** The name of the tool that the others are compared with. */
  readonly own: string;
  readonly outcomes: readonly Outcome[];
}

function tabulate(rows: number, { names, own, outcomes }: Found): Finding {
  const roundsOf = (name: string) =>
    outcomes.filter((one): one is Round => one.name === name && !('problem' in one));
  const least = (name: string, what: 'seconds' | 'cpuSeconds') =>
    Math.min(...roundsOf(name).map((round) => round[what]));
  const table = names.map((name) => {
    const rounds = roundsOf(name);
    if (rounds.length === 0) return [name, 'not measured', ...head.slice(2).map(() => '')];
    const seconds = least(name, 'seconds');
    return [
      name,
      writeNumber(seconds),
      writeNumber(least(name, 'cpuSeconds')),
      writeCount(rows / seconds),
      writeCount(Math.max(...rounds.map(({ peakMb }) => peakMb))),
      writeCount(Math.max(...rounds.map(({ requests }) => requests))),
      writeLeft(rows, rounds),
      roundsOf(own).length === 0 ? '' : writeNumber(seconds / least(own, 'seconds')),
    ];
  });
  const problems = new Set(
    outcomes.flatMap((one) => ('problem' in one ? [`${one.name}: ${one.problem}.`] : [])),
  );
  return {
    title: `${writeCount(rows)} nested records in pages of 100, whole processes from start to end`,
    head,
    rows: table,
    ratios: Object.fromEntries(
      names
        .filter((name) => name !== own && roundsOf(name).length > 0 && roundsOf(own).length > 0)
        .map((name) => [`${name}, in times of Sluice`, least(name, 'seconds') / least(own, 'seconds')]),
    ),
    notes: [
      ...problems,
      ...writeVersions(names.flatMap((name) => roundsOf(name).slice(0, 1))),
      'Of times the best of the rounds, in which each tool runs once; of the rest the worst. CPU s and memory are those of all processes of a tool, of memory the largest one; of singer-sdk and target-duckdb, which run side by side, the sum. Starting Node or Python and loading its packages is in it, as in every sync.',
      'The floor keeps nothing. It and Sluice read several pages at a time, the others one after the other, as they come. Each tool merges by `id` and `date` into an empty DuckDB file and is left as it comes otherwise, but for one column of dlt, whose type is declared.',
    ],
  };
}

/** The rows of the round that was furthest from what was served. */
function writeLeft(rows: number, rounds: readonly Round[]): string {
  const [worst] = rounds
    .flatMap(({ left }) => left ?? [])
    .toSorted(
      (a, b) => Math.abs(b.rows - rows) + (rows - b.keys) - Math.abs(a.rows - rows) - (rows - a.keys),
    );
  if (worst === undefined) return 'none';
  const [missing, twice] = [rows - worst.keys, worst.rows - worst.keys];
  const faults = [
    ...(missing === 0 ? [] : [`**${writeCount(missing)} missing**`]),
    ...(twice === 0 ? [] : [`**${writeCount(twice)} twice**`]),
  ];
  return [writeCount(worst.rows), ...faults].join(', ');
}

function writeVersions(rounds: readonly Round[]): readonly string[] {
  const texts = rounds
    .map(({ left }) => Object.entries(left?.versions ?? {}))
    .filter((versions) => versions.length > 0)
    .map((versions) => versions.map(([name, version]) => `${name} ${version}`).join(', '));
  return texts.length === 0 ? [] : [`Versions: ${texts.join('; ')}.`];
}
