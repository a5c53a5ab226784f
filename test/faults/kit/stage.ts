import { onTestFinished, vi } from 'vitest';
import { type CliProject, type CliProjectOptions, type CliWorld, createCliProject } from './cli-project.ts';
import type { Certificate } from './make-certificate.ts';
import { readEnd, type Scenario, type ScenarioEnd } from './scenario.ts';
import { JSON_TYPE, servePages, wideQuota } from './serve-pages.ts';
import { WIRE_ROWS } from './wire-flow.ts';
import {
  type Misbehaviour,
  startWireServer,
  type Step,
  toBytes,
  type WireAnswer,
  type WireServer,
} from './wire-server.ts';

/** A server and a project that syncs from it, as a scenario finds them. */
export interface Stage {
  readonly server: WireServer;
  readonly project: CliProject;
}

export interface StageOptions extends Partial<CliProjectOptions> {
  readonly tls?: Certificate;
  /** Address of a proxy that the environment names. */
  readonly proxy?: string;
}

export async function setUp({ tls, proxy, ...options }: StageOptions = {}): Promise<Stage> {
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy']) vi.stubEnv(name, undefined);
  if (proxy !== undefined) vi.stubEnv('HTTPS_PROXY', proxy);
  const server = await startWireServer({ serve: servePages(WIRE_ROWS), ...(tls && { tls: { ...tls } }) });
  onTestFinished(() => server.close());
  return { server, project: createCliProject({ baseUrl: server.baseUrl, ...options }) };
}

/** How a command line ends on a stage. */
export async function runOn(
  { project }: Stage,
  argv: readonly string[],
  world?: CliWorld,
): Promise<ScenarioEnd> {
  return readEnd(await project.run([...argv, '--json'], world));
}

export function syncOn(stage: Stage, ...options: readonly string[]): Promise<ScenarioEnd> {
  return runOn(stage, ['sync', ...options]);
}

/** One sync against a server that misbehaves from the beginning. */
export function syncAgainst(
  how: Misbehaviour,
  options: StageOptions = {},
  ...argv: readonly string[]
): Scenario {
  return async () => {
    const stage = await setUp(options);
    stage.server.misbehave(how);
    return syncOn(stage, ...argv);
  };
}

/** A sync that works, then one against a server that misbehaves. */
export function syncAgainstLater(how: Misbehaviour, options: StageOptions = {}): Scenario {
  return async () => {
    const stage = await setUp(options);
    await syncOn(stage);
    stage.server.misbehave(how);
    return syncOn(stage, '--full-refresh');
  };
}

/** One answer and nothing else. */
export const answer = (given: WireAnswer): readonly Step[] => [{ send: toBytes(given) }];

/** The documented error envelope, whatever is asked. */
export function refuse(status: string, code: string, message: string): Misbehaviour {
  const body = JSON.stringify({ error: { code, message } });
  return () => answer({ status, headers: { ...JSON_TYPE, ...wideQuota() }, body });
}

/** Misbehaves for one offset only. */
export function atOffset(offset: number, how: Misbehaviour): Misbehaviour {
  return (request, healthy) =>
    request.query.get('offset') === String(offset) ? how(request, healthy) : undefined;
}

interface Envelope {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly pagination: Readonly<Record<string, unknown>>;
}

/** Changes what the API says; `n` counts requests. */
export function rewrite(change: (envelope: Envelope, n: number) => unknown): Misbehaviour {
  return ({ n }, healthy) => {
    const envelope = JSON.parse(healthy.body.toString()) as Envelope;
    return answer({ ...healthy, body: JSON.stringify(change(envelope, n)) });
  };
}
