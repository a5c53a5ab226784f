import { createHash, timingSafeEqual } from 'node:crypto';
import type { Answer, PathRequest } from './metrics-server.ts';
import { ConfigError } from '../model/errors.ts';
import { isLoopback } from '../text/loopback.ts';

/** Who may see pages with what is in the tables: programs of this machine, or those who have a token. */
export interface PageGuard {
  /** The address that the server listens on. */
  readonly host: string;
  readonly token: string | undefined;
}

export const PAGE_TOKEN = 'SLUICE_PAGE_TOKEN';
/** Printable ASCII without spaces, quotes or what a URL or a cookie would change. */
const TOKEN = /^[\w.~-]{16,200}$/;
const COOKIE = 'sluice_page';

/** The guard of pages on an address, with the token of the environment, which is masked in all output from then on. */
export function openGuard(
  host: string,
  { env, keepSecret }: { readonly env: NodeJS.ProcessEnv; readonly keepSecret: (secret: string) => void },
): PageGuard {
  const token = readPageToken(env);
  if (token !== undefined) keepSecret(token);
  return { host, token };
}

/** Reads the token from the environment; throws ConfigError (2) for one that is easily guessed or cannot be in a URL. */
export function readPageToken(env: NodeJS.ProcessEnv): string | undefined {
  const token = env[PAGE_TOKEN];
  if (token === undefined || token === '') return undefined;
  if (TOKEN.test(token)) return token;
  throw new ConfigError(`${PAGE_TOKEN} must be 16 to 200 letters, digits, dots, dashes or underscores`, {
    code: 'usage_invalid',
    hint: 'For example: openssl rand -hex 16. Nothing was requested.',
  });
}

/** Whether pages are shown at all. */
export function isShown({ host, token }: PageGuard): boolean {
  return token !== undefined || isLoopback(host);
}

/** The answer to a request that may not see a page, or that shall come back with a cookie; undefined if it may. */
export function refusePage(guard: PageGuard, { path, query, headers }: PathRequest): Answer | undefined {
  const { token } = guard;
  if (token === undefined) {
    if (!isLoopback(guard.host))
      return toText(403, `Set ${PAGE_TOKEN} to see the report here: other machines can reach this address.`);
    // A page of another site must not read it by a name that leads to this machine.
    if (!isLoopback(readHostName(headers.host)))
      return toText(403, 'Open it as localhost: this page is for this machine only.');
    return undefined;
  }
  const sealed = seal(token);
  const given = query.get('token');
  if (given !== null && isEqual(seal(given), sealed)) {
    const location = path.split('/').at(-1) || './';
    const cookie = `${COOKIE}=${sealed}; Path=/; HttpOnly; SameSite=Strict`;
    return { ...toText(303, 'See here without the token.'), headers: { location, 'set-cookie': cookie } };
  }
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined && isEqual(seal(bearer), sealed)) return undefined;
  const cookies = (headers.cookie ?? '').split(/; */);
  if (cookies.some((one) => isEqual(one, `${COOKIE}=${sealed}`))) return undefined;
  return toText(401, `Add ?token= and the value of ${PAGE_TOKEN} to the address.`);
}

/** A host without its port. */
function readHostName(host = ''): string {
  return host.replace(/:\d+$/, '');
}

// A browser keeps this in place of the token.
function seal(token: string): string {
  return createHash('sha256').update(`sluice page ${token}`).digest('hex');
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function toText(status: number, body: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${body}\n` };
}
