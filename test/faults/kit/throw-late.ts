// Loaded before a program: once the program listens for the failure in LATE, lets one happen that nobody catches.
const on = process.on.bind(process) as (
  event: string,
  listener: (...given: unknown[]) => void,
) => typeof process;
const late = process.env['LATE'];

process.on = ((event: string, listener: (...given: unknown[]) => void) => {
  on(event, listener);
  if (event === late) setImmediate(fail);
  return process;
}) as typeof process.on;

function fail(): void {
  const error = new TypeError(`x is not a function of ${process.env['ANALYTICS_API_KEY']}`);
  if (late === 'uncaughtException') throw error;
  void Promise.reject(error);
}
