// A module to preload: writes the name of every module of OpenTelemetry that is loaded to the file in LOADED_MODULES; with
// HIDE_MODULES, nothing can be loaded.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const { LOADED_MODULES: file, HIDE_MODULES: isHidden } = process.env;

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('@opentelemetry/')) return next(specifier, context);
    if (file !== undefined) appendFileSync(file, `${specifier}\n`);
    if (isHidden === undefined) return next(specifier, context);
    const missing = new Error(`Cannot find package '${specifier}'`);
    throw Object.assign(missing, { code: 'ERR_MODULE_NOT_FOUND' });
  },
});
