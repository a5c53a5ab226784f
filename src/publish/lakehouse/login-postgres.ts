import { quoteLiteral } from '../../warehouse/identifiers.ts';

/** A server that does not answer must not keep a run for minutes. */
const CONNECT_SECONDS = '10';

/** A secret of the engine with the login of a database of Postgres, as SQL. */
export function describeLogin(name: string, url: URL): string {
  const named = [
    ['HOST', url.hostname.replace(/^\[|\]$/g, '')],
    ['PORT', url.port],
    ['DATABASE', url.pathname.slice(1)],
    ['USER', url.username],
    ['PASSWORD', url.password],
  ].filter(([, value]) => value !== '');
  const parts = named.map(([key, value]) => `${key} ${quoteLiteral(decodeURIComponent(value ?? ''))}`);
  return `CREATE SECRET ${name} (${['TYPE postgres', ...parts].join(', ')})`;
}

/** The rest of the address, as libpq reads it. */
export function describeOptions({ searchParams }: URL): string {
  const options = new Map([['connect_timeout', CONNECT_SECONDS], ...searchParams]);
  return [...options].map(([name, value]) => `${name}='${value.replaceAll(/['\\]/g, '\\$&')}'`).join(' ');
}
