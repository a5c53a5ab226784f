import { writeErrorBody } from './api-problem.ts';
import type { SimulatorRequest, SimulatorResponse } from './message.ts';
import type { Simulator } from './simulator.ts';

/** Where a separately running simulator is steered from. */
export const CONTROL_PREFIX = '/_simulator/';

/** What `GET /_simulator/state` returns. */
export interface SimulatorState {
  readonly day: string;
  readonly requests: number;
  readonly rateLimited: number;
  readonly rows: Readonly<Record<string, number>>;
}

const MAX_DAYS = 3660;

/** Steers the simulator; needs no key and counts against no limit, so only loopback callers may. */
export function handleControl(
  simulator: Simulator,
  request: SimulatorRequest,
  remoteAddress: string | undefined,
): SimulatorResponse {
  if (!isLoopback(remoteAddress)) return refuse(403, 'FORBIDDEN', 'The controls answer to loopback only.');
  const url = new URL(request.path, 'http://simulator');
  const action = `${request.method} ${url.pathname.slice(CONTROL_PREFIX.length)}`;
  if (action === 'GET state') return answer(readState(simulator));
  if (action !== 'POST advance-day') return refuse(404, 'NOT_FOUND', 'No such control.');

  const days = url.searchParams.get('days') ?? '1';
  if (!/^[1-9]\d{0,3}$/.test(days) || Number(days) > MAX_DAYS) {
    return refuse(400, 'VALIDATION_ERROR', `Invalid parameter: days must be from 1 to ${MAX_DAYS}.`);
  }
  simulator.advanceDay(Number(days));
  return answer(readState(simulator));
}

function readState(simulator: Simulator): SimulatorState {
  const { requests, rateLimited } = simulator.arrivals;
  return { day: simulator.day, requests, rateLimited, rows: simulator.countRows() };
}

function answer(state: SimulatorState): SimulatorResponse {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(state) };
}

function refuse(status: number, code: string, message: string): SimulatorResponse {
  return { status, headers: JSON_HEADERS, body: writeErrorBody(code, message) };
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::1$|(::ffff:)?127\.)/.test(address);
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };
