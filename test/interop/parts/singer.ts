import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startSimulatorServer } from '../../../src/simulator/server.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../../src/simulator/simulator-options.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import { findPostgres, startPostgres } from '../../support/lake-servers.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';
import { writeClientConfig } from '../write-client-config.ts';

const CHECKS = ['singer-tools==0.4.1', 'target-jsonl==0.1.4'];
const TARGET = ['meltanolabs-target-postgres==0.8.1'];
const UNLIMITED = { requestsPerHour: 1_000_000, burstPerSecond: 100_000 };

/** The tap, checked by singer-tools, and two targets: target-jsonl, and target-postgres over three days. */
export async function proveSinger(interop: Interop): Promise<void> {
  const { folder, say, env } = interop;
  const simulator = createSimulator({ keys: [DEMO_KEY], rateLimit: UNLIMITED });
  const server = await startSimulatorServer(simulator);
  const postgres = await startPostgres();
  try {
    const config = writeConfig(folder, server.baseUrl);
    const tap = (...args: readonly string[]) => runTap(env, ['--config', config, ...args]);
    const catalog = join(folder, 'catalog.json');
    writeFileSync(catalog, await tap('--discover'));
    const first = await tap('--catalog', catalog);

    const checks = requirePython(CHECKS);
    const check = spawnSync(join(checks, 'singer-check-tap'), [], { input: first, encoding: 'utf8' });
    assert.equal(check.status, 0, check.stderr);
    say(`singer-check-tap: ${check.stdout.trim().split('\n')[0] ?? ''}`);
    proveJsonLines(folder, join(checks, 'target-jsonl'), first);

    const target = join(requirePython(TARGET), 'target-postgres');
    const targetConfig = join(folder, 'target.json');
    const { port, user, password } = postgres;
    writeFileSync(
      targetConfig,
      JSON.stringify({
        host: '127.0.0.1',
        port,
        user,
        password,
        database: 'postgres',
        default_target_schema: 'tap',
      }),
    );
    let output = first;
    for (let day = 1; day <= 3; day += 1) {
      const loaded = spawnSync(target, ['--config', targetConfig], { input: output, encoding: 'utf8' });
      assert.equal(loaded.status, 0, loaded.stderr.slice(-2000));
      const state = join(folder, 'state.json');
      writeFileSync(state, loaded.stdout.trim().split('\n').at(-1) ?? '');
      say(`target-postgres, day ${day}: ${compareTables(folder, postgres.url)}`);
      simulator.editRecords('commerce/category-products', (records) =>
        [...records]
          .slice(2)
          .map((one, at) => (at === 5 ? { ...(one as object), title: `Day ${day}` } : one)),
      );
      simulator.advanceDay();
      output = await tap('--properties', catalog, '--state', state);
    }
  } finally {
    await postgres.stop();
    await server.close();
  }
}

function writeConfig(folder: string, baseUrl: string): string {
  const file = join(folder, 'tap.json');
  writeFileSync(file, JSON.stringify({ config_path: writeClientConfig(folder, baseUrl) }));
  return file;
}

async function runTap(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<string> {
  const entry = cliEntry.replace(/bin\.(js|ts)$/, 'tap-bin.$1');
  const child = spawn(process.execPath, [entry, ...args, '--no-progress'], { env });
  const { exitCode, stdout, stderr } = await waitForOutcome(child);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

/** Every record has its line. */
function proveJsonLines(folder: string, target: string, output: string): void {
  const place = join(folder, 'jsonl');
  mkdirSync(place);
  const config = join(folder, 'jsonl.json');
  writeFileSync(config, JSON.stringify({ destination_path: place }));
  const loaded = spawnSync(target, ['--config', config], { input: output, encoding: 'utf8' });
  assert.equal(loaded.status, 0, loaded.stderr);
  const sent = output.split('\n').filter((line) => line.startsWith('{"type":"RECORD"')).length;
  const lines = readdirSync(place).map(
    (name) => readFileSync(join(place, name), 'utf8').trimEnd().split('\n').length,
  );
  assert.equal(
    lines.reduce((sum, count) => sum + count, 0),
    sent,
  );
}

/** The rows of the target that are not deleted are those of Sluice's table, in number and by a column of each. */
function compareTables(folder: string, url: string): string {
  const psql = join(findPostgres() ?? '', 'psql');
  const ask = (sql: string) => {
    const { status, stdout, stderr } = spawnSync(psql, ['--no-psqlrc', '-At', '-c', sql, url], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return stdout.trimEnd();
  };
  const own = (sql: string) => {
    const query = [cliEntry, 'query', '-c', join(folder, 'sluice.yaml'), '--format', 'csv', sql];
    const { status, stdout, stderr } = spawnSync(process.execPath, query, {
      encoding: 'utf8',
      cwd: dirname(folder),
    });
    assert.equal(status, 0, stderr);
    return stdout.replaceAll('\r', '').trimEnd().split('\n').slice(1).join('\n');
  };
  const columns: Readonly<Record<string, string>> = {
    visibility_mentions: 'mention_id, date, position',
    prompts_analytics: 'prompt_id, date, mentions, meta__tokens',
    commerce_category_products: 'category_id, product_id, title, in_stock::INTEGER',
    commerce_top_products: 'date, region, rank, product_id',
  };
  return Object.entries(columns)
    .map(([table, list]) => {
      const names = list.split(', ').map((name) => `coalesce(${name.split('::')[0] ?? ''}::VARCHAR, '-')`);
      const text = `concat_ws('|', ${names.join(', ')})`;
      const held = ask(`SELECT ${text} FROM tap.${table} WHERE _sdc_deleted_at IS NULL`)
        .split('\n')
        .toSorted();
      const wanted = own(`SELECT ${text} AS t FROM ${table}`)
        .split('\n')
        .map((line) => line.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'))
        .toSorted();
      assert.deepEqual(held, wanted, table);
      return `${table} ${held.length}`;
    })
    .join(', ');
}
