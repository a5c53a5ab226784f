import type { ConfigPath } from './config-path.ts';
import type { Refuse } from './lakehouse-settings.ts';

/** Options of libpq that an address may have behind the name of the database. */
const OPTIONS = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'channel_binding',
  'connect_timeout',
  'application_name',
  'target_session_attrs',
];

/** Of libpq; a driver has others that check no certificate. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

const EXAMPLE = 'postgres://user:password@host:5432/database';

/** Whether a text is meant as the address of a database of Postgres. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text);
}

/** The address of a database of Postgres. */
export function readPostgresUrl(text: string, key: ConfigPath, refuse: Refuse): URL {
  const url = isPostgresUrl(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === '' || !/^\/[^/]+$/.test(url.pathname) || !isDecodable(url))
    return refuse(
      key,
      'is not an address of a database',
      `Write ${EXAMPLE}, with other characters than letters and digits percent-encoded in the password.`,
    );
  const unknown = [...url.searchParams.keys()].find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined || url.hash !== '')
    return refuse(
      key,
      `has an option that is not supported: ${unknown ?? 'what follows #'}`,
      `Remove it. Known are ${OPTIONS.join(', ')}; PGSSLMODE and the other variables of libpq work as usual.`,
    );
  const modes = url.searchParams.getAll('sslmode');
  if (modes.length > 1 || !modes.every((mode) => SSL_MODES.includes(mode)))
    return refuse(
      key,
      'has an sslmode that does not exist, or several',
      `Write one of ${SSL_MODES.join(', ')}.`,
    );
  return url;
}

function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** The address without a login and options. */
export function describeServer({ host, pathname }: URL): string {
  return `postgres://${host}${pathname}`;
}

/** The password as it is written, and as it is. */
export function listPasswords({ password }: URL): readonly string[] {
  return [password, decodeURIComponent(password)].filter((text) => text !== '');
}
