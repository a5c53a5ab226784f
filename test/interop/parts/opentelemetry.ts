import { strict as assert } from 'node:assert';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_KEY } from '../../../src/simulator/simulator-options.ts';
import { root } from '../../deploy/dockerfile.ts';
import { cliEntry, isBuilt } from '../../support/cli-entry.ts';
import { nameLineage, type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { type ProcessEnd, startNode, waitForEnd } from '../../support/run-node.ts';
import type { Interop } from '../part.ts';

const here = join(root, 'test/interop/opentelemetry');
const library = join(root, isBuilt ? 'dist/src/index.js' : 'src/index.ts');
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

/** The built command line and the library, with a receiver of OTLP, with an SDK of the program, and without either. */
export async function proveOpenTelemetry(interop: Interop): Promise<void> {
  const project = writeProject(interop);
  const receiver = await startOtlpReceiver();
  try {
    await sendJson(project, receiver);
    interop.say('a sync sends its trace, below that of its orchestrator, and its metrics');
    await sendProtobuf(project, receiver);
    interop.say('without a protocol, both are sent as protobuf');
    await useRegistered(project, receiver);
    interop.say('an SDK that the program registered gets the spans, of the library below its own span');
    await loadNothing(project);
    interop.say('nothing of OpenTelemetry is loaded where nobody asked for it');
    await missPackages(project, receiver);
    interop.say('without its packages, a sync ends as ever and names the command that installs them');
  } finally {
    await receiver.close();
  }
  await outliveReceiver(project, receiver);
  interop.say('a receiver that is away changes nothing, and what was lost is one warning');
}

interface Project {
  readonly folder: string;
  readonly config: string;
  readonly env: NodeJS.ProcessEnv;
}

function writeProject({ folder, baseUrl, env }: Interop): Project {
  const config = join(folder, 'sluice.yaml');
  const source = { connector: 'analytics-read', baseUrl, apiKey: '${ANALYTICS_API_KEY}' };
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ source, destination: { duckdb: './traced.duckdb' } }));
  return { folder, config, env };
}

interface Line {
  readonly env?: NodeJS.ProcessEnv;
  readonly preload?: string | undefined;
}

function sync({ folder, config, env }: Project, { env: more, preload }: Line): Promise<ProcessEnd> {
  const args = ['sync', '-c', config, '--force', '--no-progress', '--streams', 'prompts_analytics'];
  return run(cliEntry, args, { folder, env: { ...env, ...more }, preload });
}

async function run(
  file: string,
  args: readonly string[],
  { folder, env, preload }: Line & { readonly folder: string },
): Promise<ProcessEnd> {
  const preloaded =
    preload === undefined ? {} : { NODE_OPTIONS: `--no-warnings --import=${join(here, preload)}` };
  const end = await waitForEnd(startNode(file, args, { cwd: folder, env: { ...env, ...preloaded } }));
  assert.equal(end.exitCode, 0, end.stderr);
  return end;
}

function toJson({ endpoint }: OtlpReceiver): NodeJS.ProcessEnv {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
}

async function sendJson(project: Project, receiver: OtlpReceiver): Promise<void> {
  const env = { ...toJson(receiver), TRACEPARENT: `00-${TRACE}-${PARENT}-01`, OTEL_SERVICE_NAME: 'nightly' };
  await sync(project, { env });
  const { spans, samples, messages } = receiver;
  const lineages = new Set(spans.map((span) => nameLineage(spans, span)));
  assert.ok(lineages.has('sluice.run > sluice.stream > sluice.scan > http GET'), [...lineages].join('\n'));
  assert.ok(lineages.has('sluice.run > sluice.stream > sluice.commit'));
  assert.ok(lineages.has('sluice.run > sluice.publish'));
  const top = spans.find(({ name }) => name === 'sluice.run');
  assert.equal(top?.traceId, TRACE);
  assert.equal(top.parentSpanId, PARENT);
  assert.equal(top.attributes['sluice.exit_code'], 0);
  assert.equal(top.resource['service.name'], 'nightly');
  assert.ok(samples.some(({ name, value }) => name === 'sluice_requests_total' && value > 0));
  for (const { body } of messages) assert.ok(!body.includes(DEMO_KEY), 'the key was sent');
}

async function sendProtobuf(project: Project, receiver: OtlpReceiver): Promise<void> {
  const before = receiver.messages.length;
  await sync(project, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint } });
  const sent = receiver.messages.slice(before);
  assert.deepEqual(new Set(sent.map(({ path }) => path)), new Set(['/v1/traces', '/v1/metrics']));
  assert.deepEqual(new Set(sent.map(({ type }) => type)), new Set(['application/x-protobuf']));
  assert.ok(sent.some(({ body }) => body.includes('sluice.run')));
}

async function useRegistered(project: Project, receiver: OtlpReceiver): Promise<void> {
  const env = toJson(receiver);
  let before = receiver.spans.length;
  await sync(project, { env, preload: 'register-sdk.ts' });
  const ofSync = receiver.spans.slice(before);
  assert.ok(ofSync.some(({ name }) => name === 'sluice.run'));
  assert.deepEqual([...new Set(ofSync.map(({ resource }) => resource['service.name']))], ['the-program']);
  before = receiver.spans.length;
  await runProgram(project, { env, preload: 'register-sdk.ts' }, ['traced']);
  const ofProgram = receiver.spans.slice(before);
  const lineages = ofProgram.map((span) => nameLineage(ofProgram, span));
  assert.ok(lineages.includes('nightly > sluice.run > sluice.stream > sluice.scan > http GET'));
  assert.deepEqual([...new Set(ofProgram.map(({ resource }) => resource['service.name']))], ['the-program']);
}

function runProgram({ folder, config, env }: Project, line: Line, more: readonly string[]) {
  const all = { ...env, ...line.env };
  return run(join(here, 'program.ts'), [library, config, ...more], { ...line, folder, env: all });
}

async function loadNothing(project: Project): Promise<void> {
  const loaded = join(project.folder, 'loaded.txt');
  const watched = { env: { LOADED_MODULES: loaded }, preload: 'watch-modules.ts' };
  await sync(project, watched);
  await sync(project, { ...watched, env: { ...watched.env, OTEL_SDK_DISABLED: 'true' } });
  await runProgram(project, watched, []);
  assert.ok(!existsSync(loaded), existsSync(loaded) ? readFileSync(loaded, 'utf8') : '');
}

async function missPackages(project: Project, receiver: OtlpReceiver): Promise<void> {
  const before = receiver.messages.length;
  const loaded = join(project.folder, 'loaded.txt');
  const env = { ...toJson(receiver), HIDE_MODULES: '1', LOADED_MODULES: loaded };
  const { stderr } = await sync(project, { env, preload: 'watch-modules.ts' });
  const commands = stderr.match(/npm install \S+/g) ?? [];
  assert.deepEqual(commands, ['npm install @opentelemetry/api@1'], stderr);
  assert.match(stderr, /@opentelemetry\/exporter-trace-otlp-http@0\.301/);
  assert.equal(receiver.messages.length, before);
  rmSync(loaded);
}

async function outliveReceiver(project: Project, receiver: OtlpReceiver): Promise<void> {
  const { stderr } = await sync(project, { env: toJson(receiver) });
  const warnings = stderr.split('\n').filter((line) => line.includes('OpenTelemetry'));
  assert.equal(warnings.length, 1, stderr);
  assert.match(warnings[0] ?? '', /spans and the metrics could not be sent/);
}
