import { afterAll, describe, expect, it } from 'vitest';
import { beforeRequest } from '../../src/simulator/faults.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import { type AccountsFlow, createAccountsFlow, TABLES } from '../support/accounts-flow.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { countRuns, createRandom, seed } from '../support/seeds.ts';

const servers: SimulatorServer[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

/** A project whose commands run as processes, with a server for them. */
async function createServed(names: readonly string[]): Promise<AccountsFlow> {
  const flow = createAccountsFlow({ names, config: { concurrency: 4 } });
  const server = await startSimulatorServer(flow.simulator);
  servers.push(server);
  flow.serve(server.baseUrl);
  return flow;
}

function start(flow: AccountsFlow, args: readonly string[]) {
  const env = { HOME: flow.folder, NO_COLOR: '1' };
  return startNode(cliEntry, args, { cwd: flow.folder, env });
}

async function runJson(flow: AccountsFlow, ...more: readonly string[]): Promise<AccountsReport> {
  const { stdout } = await waitForEnd(start(flow, ['sync', '--json', '--no-progress', ...more]));
  return (JSON.parse(stdout) as { readonly result: AccountsReport }).result;
}

async function expectClean(flow: AccountsFlow, account: string): Promise<void> {
  const alone = await flow.clean(account);
  for (const table of TABLES) {
    const rows = await flow.rows(account, table);
    expect(rows, `${account}.${table}, seed ${seed}`).toEqual(await alone.rows(account, table));
    expect(new Set(rows.map(({ workspace }) => workspace))).toEqual(new Set([account]));
  }
}

describe('a sync of twelve accounts that is killed again and again', () => {
  it('is complete after one undisturbed run, each account with its own rows', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `client-${at}`);
    const flow = await createServed(names);
    const random = createRandom();
    const kills = countRuns(3);
    for (let kill = 0; kill < kills; kill += 1) {
      const child = start(flow, ['sync', '--no-progress', '--force']);
      const nth = 1 + Math.floor(random() * 60);
      // Not at a request alone: commits and publishing of other accounts go on meanwhile.
      const delayTurns = Math.floor(random() * 400);
      flow.simulator.setFaults([
        beforeRequest(nth, () => void waitTurns(delayTurns).then(() => child.kill('SIGKILL'))),
      ]);
      const end = await waitForEnd(child);
      expect([end.signal, end.exitCode], `kill ${kill}, seed ${seed}\n${end.stderr}`).toSatisfy(
        ([signal, code]: readonly unknown[]) => signal === 'SIGKILL' || code === 0,
      );
      if (kill === Math.floor(kills / 2)) flow.simulator.advanceDay();
    }
    flow.simulator.setFaults([]);
    const report = await runJson(flow, '--force');
    expect(
      report.exitCode,
      `seed ${seed}: ${JSON.stringify(report.accounts.map(({ error }) => error))}`,
    ).toBe(0);
    for (const name of names) await expectClean(flow, name);
  });
});

describe('two processes on one config', () => {
  it('share the accounts between them, and each account is complete', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const flow = await createServed(names);
    const [first, second] = await Promise.all([runJson(flow), runJson(flow)]);
    for (const [at, name] of names.entries()) {
      const codes = [first.accounts[at]?.exitCode, second.accounts[at]?.exitCode];
      expect(codes).toContain(0);
      expect(codes.every((code) => code === 0 || code === 75)).toBe(true);
      await expectClean(flow, name);
    }
  });
});

async function waitTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
