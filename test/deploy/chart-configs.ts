import { strict as assert } from 'node:assert';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { findManifest, type Manifest } from './chart.ts';
import { listPods } from './chart-pods.ts';

const KEY = 'example-key-0123456789';
const configSchema = z.looseObject({
  source: z.looseObject({ baseUrl: z.string() }),
  accounts: z.record(z.string(), z.unknown()).optional(),
  fleet: z.unknown().optional(),
});

/**
 * Checks the config that a chart's pods read: by `sluice config show`, and by `sluice check` with a simulated API and
 * the files of the Secrets where the pod has them. A fleet's database is not there to be asked.
 */
export async function checkChartConfigs(
  name: string,
  manifests: readonly Manifest[],
  folder: string,
): Promise<void> {
  const pods = listPods(manifests);
  assert.ok(pods.length > 0, `${name} has no pod`);
  for (const pod of pods) {
    const { data } = z
      .object({ data: z.object({ 'sluice.yaml': z.string() }) })
      .parse(findManifest(manifests, 'ConfigMap', pod.configMap));
    const text = data['sluice.yaml'];
    const config = configSchema.parse(parse(text));
    for (const file of listFiles(text, Object.keys(config.accounts ?? {})))
      assert.ok(
        pod.files.some((one) => file.startsWith(one)),
        `${name} reads ${file}, which is not mounted`,
      );
    await runWithConfig(config, text, join(folder, `${name}-${pod.configMap}`));
  }
}

/** Every file that placeholders name, that of each account by its name. */
function listFiles(text: string, accounts: readonly string[]): readonly string[] {
  return [...text.matchAll(/\$\{file:([^$}]*(?:\$\{account\})?)\}/g)].flatMap(([, file = '']) =>
    file.includes('${account}') ? accounts.map((name) => file.replace('${account}', name)) : [file],
  );
}

async function runWithConfig(
  config: z.infer<typeof configSchema>,
  text: string,
  folder: string,
): Promise<void> {
  const accounts = Object.keys(config.accounts ?? {});
  const files = listFiles(text, accounts);
  // Accounts with the same key would be the same account.
  const keyOf = (file: string) => `${KEY}-${basename(file)}`;
  for (const file of files) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    const isUrl = file.endsWith('_url');
    const content = isUrl ? 'postgres://sluice:example@127.0.0.1:1/fleet' : keyOf(file);
    writeFileSync(join(folder, file), content, { mode: 0o600 });
  }
  const server = await startSimulatorServer(createSimulator({ keys: files.map(keyOf) }));
  try {
    const local = { ...config, source: { ...config.source, baseUrl: server.baseUrl } };
    const moved = stringify(local)
      .replaceAll('/run/secrets/', `${folder}/run/secrets/`)
      .replaceAll(/(?<=[ :])\/data\//g, `${folder}/data/`);
    const file = join(folder, 'sluice.yaml');
    writeFileSync(file, moved);
    const commands = config.fleet === undefined ? [['config', 'show'], ['check']] : [['config', 'show']];
    for (const command of commands) {
      const end = await waitForEnd(startNode(cliEntry, [...command, '--config', file], { cwd: folder }));
      const output = `${end.stdout}${end.stderr}`;
      assert.equal(end.exitCode, 0, `sluice ${command.join(' ')} with ${text}\n${output}`);
      assert.ok(!output.includes(KEY), 'the key is in the output');
    }
  } finally {
    await server.close();
  }
}
