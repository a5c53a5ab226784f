import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

import { systemClock } from '../model/clock.ts';
import type { Clock } from '../model/clock.ts';
import { writeErrorBody } from './api-problem.ts';
import { CONTROL_PREFIX, handleControl } from './control.ts';
import type { HeaderMap, SimulatorResponse } from './message.ts';
import type { Simulator } from './simulator.ts';

/** How the simulator is put on the network. */
export interface SimulatorServerOptions {
  /** A free port when left out. */
  readonly port?: number;
  readonly host?: string;
  readonly clock?: Clock;
  /** Whether bodies are compressed for clients that accept it; true when left out. */
  readonly gzip?: boolean;
  /** How long an idle connection is kept; Node's 5 s when left out. */
  readonly keepAliveTimeoutMs?: number;
}

/** A listening simulator. */
export interface SimulatorServer {
  /** Address of the API, base path included. */
  readonly baseUrl: string;
  /** Address without a path, for the controls below `/_simulator/`. */
  readonly origin: string;
  readonly port: number;
  /** Stops at once: idle, hanging and delayed connections are ended, not awaited. */
  close(): Promise<void>;
}

const compress = promisify(gzip);

/** Serves the simulator over HTTP and performs the connection faults it asks for. */
export async function startSimulatorServer(
  simulator: Simulator,
  options: SimulatorServerOptions = {},
): Promise<SimulatorServer> {
  const { port = 0, host = '127.0.0.1', clock = systemClock, gzip: mayCompress = true } = options;
  const closing = new AbortController();
  const readServerTime = startServerTime(clock);

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const answer = answerRequest(simulator, request, readServerTime());
    if (answer.connection === 'hang') return;
    if (answer.delayMs !== undefined) await clock.sleep(answer.delayMs, closing.signal);
    if (answer.connection === 'drop') {
      request.socket.destroy();
      return;
    }
    await send(answer, response, mayCompress && acceptsGzip(request));
  }

  const server = createServer((request, response) => {
    // What fails here is the client's leaving or close(): either way the connection is done for.
    respond(request, response).catch(() => request.socket.destroy());
  });
  if (options.keepAliveTimeoutMs !== undefined) server.keepAliveTimeout = options.keepAliveTimeoutMs;
  await listen(server, port, host);

  const { port: boundPort, address } = server.address() as AddressInfo;
  const origin = `http://${formatHost(host, address)}:${boundPort}`;
  return {
    baseUrl: origin + simulator.basePath,
    origin,
    port: boundPort,
    close: () =>
      new Promise((resolve) => {
        closing.abort(new Error('the simulator was closed'));
        // A second close() finds the server closed already, which is what it wants.
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The server's own time: it goes on steadily when the machine's wall clock is set. */
function startServerTime(clock: Clock): () => number {
  const aheadMs = clock.now() - clock.monotonic();
  return () => aheadMs + clock.monotonic();
}

function answerRequest(simulator: Simulator, request: IncomingMessage, atMs: number): SimulatorResponse {
  const { method = 'GET', url: path = '/', headers } = request;
  try {
    return path.startsWith(CONTROL_PREFIX)
      ? handleControl(simulator, { method, path, headers }, request.socket.remoteAddress)
      : simulator.handle({ method, path, headers }, atMs);
  } catch (error) {
    // A test's own records or faults threw: say so instead of leaving the client without an answer.
    const body = writeErrorBody('INTERNAL_ERROR', `The simulator failed: ${String(error)}`);
    return { status: 500, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
  }
}

async function send(answer: SimulatorResponse, response: ServerResponse, compressed: boolean): Promise<void> {
  const plain = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  // A fault that names its own encoding sends exactly the bytes it gave.
  const encode = compressed && plain.length > 0 && answer.headers['content-encoding'] === undefined;
  const body = encode ? await compress(plain, { level: constants.Z_BEST_SPEED }) : plain;
  const headers: HeaderMap = {
    'content-length': String(body.length),
    ...(encode && { 'content-encoding': 'gzip', vary: 'accept-encoding' }),
    ...answer.headers,
  };
  response.writeHead(answer.status, headers as Record<string, string | string[]>);
  if (answer.connection === 'cut') {
    response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroy());
  } else {
    response.end(body);
  }
}

function acceptsGzip(request: IncomingMessage): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(String(request.headers['accept-encoding'] ?? ''));
}

// Clients cannot call the address that stands for all of a machine's addresses.
function formatHost(host: string, bound: string): string {
  if (bound === '0.0.0.0' || bound === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
