import { ConfigError } from '../model/errors.ts';
import { createSimulator } from '../simulator/simulator.ts';
import { DEMO_KEY } from '../simulator/simulator-options.ts';
import { startSimulatorServer } from '../simulator/server.ts';
import type { Scenario } from '../simulator/scenario.ts';
import { scenarios } from '../simulator/scenarios.ts';
import type { RunningSimulator, SimulatorRequest } from './frame/engine.ts';
import { findNearestName } from '../text/suggest-name.ts';

/** Serves a simulator from this process. */
export async function startSimulator(request: SimulatorRequest): Promise<RunningSimulator> {
  const { host, port, key = DEMO_KEY, accounts, day, dates, seed, requestsPerHour, burstPerSecond } = request;
  const scenario = request.scenario === undefined ? undefined : findScenario(request.scenario);
  const simulator = createSimulator({
    ...scenario?.options(),
    day,
    ...(accounts === undefined ? { keys: [key] } : { accounts }),
    ...(dates !== undefined && { dates }),
    ...(seed !== undefined && { seed }),
    rateLimit: {
      ...(requestsPerHour !== undefined && { requestsPerHour }),
      ...(burstPerSecond !== undefined && { burstPerSecond }),
    },
  });
  const listening = startSimulatorServer(simulator, {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
  });
  const server = await listening.catch((cause: unknown) => {
    throw toListenError(host ?? '127.0.0.1', port ?? 0, cause);
  });
  return {
    baseUrl: server.baseUrl,
    origin: server.origin,
    key,
    scenario,
    advanceDay: () => simulator.advanceDay(),
    close: () => server.close(),
  };
}

function findScenario(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name);
  // Words joined by hyphens are alike in parts: only a slip is worth a suggestion.
  const nearest = findNearestName(name, names, 0.7);
  throw new ConfigError(`the simulator has no scenario "${name}"`, {
    code: 'usage_invalid',
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}sluice simulate --list-scenarios lists them.`,
  });
}

const NO_SUCH_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL']);

function toListenError(host: string, port: number, cause: unknown): ConfigError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  return new ConfigError(`the simulator cannot listen on ${host} port ${port} (${code})`, {
    code: 'usage_invalid',
    hint: NO_SUCH_ADDRESS.has(code)
      ? 'Choose another --host: an address of this machine, such as 127.0.0.1.'
      : 'Choose another --port, or 0 for any free one.',
    cause,
  });
}
