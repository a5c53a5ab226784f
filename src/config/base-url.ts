import type { Connector } from '../model/connector.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError } from './problem.ts';
import { isLoopback } from '../text/loopback.ts';

const hint = 'Set source.baseUrl to the address the API gave you, e.g. https://analytics.example.com/api/v1.';

/**
 * Reads a base URL without its trailing slash. Rejects any that could send the key unencrypted or to the
 * wrong place.
 */
export function readBaseUrl(text: string, loaded: LoadedConfig): URL {
  const flaw = findBaseUrlFlaw(text);
  // The text is never shown: it may hold a password.
  if (flaw !== undefined)
    throw buildConfigError([{ path: ['source', 'baseUrl'], message: flaw, hint }], loaded);
  const url = new URL(text);
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** A warning for a base URL that does not end in the API's version segment, with the likely right one. */
export function findBaseUrlWarnings(url: URL, connector: Connector): readonly string[] {
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const { versionSegment } = connector;
  if (segments.at(-1) === versionSegment) return [];
  const known = segments.lastIndexOf(versionSegment);
  // A different version at the end is replaced; otherwise the segment is missing.
  const parents = /^v\d+$/.test(segments.at(-1) ?? '') ? segments.slice(0, -1) : segments;
  // Hardly any API is at the root of its host.
  const added = segments.length === 0 ? ['api', versionSegment] : [...parents, versionSegment];
  const suggested = known === -1 ? added : segments.slice(0, known + 1);
  return [
    `source.baseUrl does not end in the version segment ${versionSegment}; did you mean ${url.origin}/${suggested.join('/')}?`,
  ];
}

/** What is wrong with a base URL, as `must ...`; undefined if it is valid. */
export function findBaseUrlFlaw(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) {
    const withoutPort = text.replace(/^([a-z]+:\/\/[^/?#]+):[^/?#:@\]]*(?=[/?#]|$)/i, '$1');
    return URL.canParse(withoutPort)
      ? 'must have a port from 1 to 65535 after the colon'
      : 'must be a complete URL that starts with https://';
  }
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or password; the key goes into source.apiKey';
  if (/[?#]/.test(text))
    return "must not hold a query (?) or fragment (#); a stream's params go into streams";
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return 'must start with https://';
  // URL has turned every spelling of an IPv4 address into four decimal numbers.
  return isLoopback(url.hostname)
    ? undefined
    : 'must start with https://: http:// would send the key unencrypted';
}
