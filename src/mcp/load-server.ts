import { ConfigError } from '../model/errors.ts';

const NAME = '@modelcontextprotocol/server';

/** The parts of the SDK that a server on stdin and stdout needs. */
export interface McpSdk {
  readonly McpServer: typeof import('@modelcontextprotocol/server').McpServer;
  readonly serveStdio: typeof import('@modelcontextprotocol/server/stdio').serveStdio;
  readonly StdioServerTransport: typeof import('@modelcontextprotocol/server/stdio').StdioServerTransport;
}

/**
 * Loads the SDK of the protocol, which only this server needs.
 *
 * @param load imports it; tests pass their own
 * @throws ConfigError (2) if it is not installed
 */
export async function loadServerSdk(load: () => Promise<McpSdk> = importSdk): Promise<McpSdk> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new ConfigError(`the package ${NAME} is not installed, and the MCP server needs it`, {
      code: 'config_invalid',
      hint: `Run npm install ${NAME}@2 where Sluice is installed. Nothing was requested.`,
      cause,
    });
  }
}

async function importSdk(): Promise<McpSdk> {
  const { McpServer } = await import('@modelcontextprotocol/server');
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  return { McpServer, serveStdio, StdioServerTransport };
}

// A package of a package that is missing is another fault: its own message says more.
function isMissing(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const { code } = thrown as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && thrown.message.includes(`'${NAME}'`);
}
