/** Hides the warning that node:sqlite is experimental; every other warning is shown. */
export function hideSqliteWarning(host: Pick<NodeJS.Process, 'emitWarning'>): void {
  const emit = host.emitWarning.bind(host) as (...details: unknown[]) => void;
  host.emitWarning = (warning: string | Error, ...details: unknown[]) => {
    const text = warning instanceof Error ? warning.message : warning;
    const type: unknown = warning instanceof Error ? warning.name : readType(details[0]);
    if (type === 'ExperimentalWarning' && text.includes('SQLite')) return;
    emit(warning, ...details);
  };
}

function readType(detail: unknown): unknown {
  return typeof detail === 'object' && detail !== null && 'type' in detail ? detail.type : detail;
}
