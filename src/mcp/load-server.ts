import type * as server from '@modelcontextprotocol/server';
import type * as stdio from '@modelcontextprotocol/server/stdio';
import { loadPackage } from '../model/load-package.ts';

/** The parts of the SDK that a server on stdin and stdout needs. */
export type McpSdk = Pick<typeof server, 'McpServer'> &
  Pick<typeof stdio, 'serveStdio' | 'StdioServerTransport'>;

/**
 * Loads the SDK of the protocol, which only this server needs.
 *
 * @param load imports it; tests pass their own
 * @throws ConfigError (2) if it is not installed
 */
export function loadServerSdk(load: () => Promise<McpSdk> = importSdk): Promise<McpSdk> {
  return loadPackage(
    { name: '@modelcontextprotocol/server', version: '2', neededBy: 'the MCP server' },
    load,
  );
}

async function importSdk(): Promise<McpSdk> {
  const { McpServer } = await import('@modelcontextprotocol/server');
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  return { McpServer, serveStdio, StdioServerTransport };
}
