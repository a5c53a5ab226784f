// Asks the schedule in this container for its health. A container without a metrics port runs one command and reports
// by its exit code: nothing is asked then.
const { SLUICE_METRICS_PORT: port = '', SLUICE_METRICS_HOST: host = '' } = process.env;
const TIMEOUT_MS = 4000;

if (port.trim() !== '') {
  // An address that stands for all of them cannot be asked itself.
  const address = ['', '0.0.0.0', '::'].includes(host.trim()) ? '127.0.0.1' : host.trim();
  const problem = await askHealth(
    `http://${address.includes(':') ? `[${address}]` : address}:${port.trim()}`,
  );
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  process.exitCode = problem === undefined ? 0 : 1;
}

async function askHealth(origin: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${origin}/healthz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return answer.ok ? undefined : `${origin}/healthz answered ${answer.status}`;
  } catch (error) {
    return `${origin}/healthz did not answer (${error instanceof Error ? error.name : 'unknown error'})`;
  }
}

export {};
