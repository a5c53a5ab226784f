import type { PathRequest } from '../../../src/metrics/metrics-server.ts';

/** A request as a path sees it. */
export function makePathRequest(path: string, more: Partial<Omit<PathRequest, 'path'>> = {}): PathRequest {
  return { path, query: new URLSearchParams(), headers: {}, ...more };
}
