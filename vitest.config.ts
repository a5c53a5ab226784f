import { defineConfig } from 'vitest/config';
import { chooseTempRoot } from './test/support/fast-temp.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed-properties.ts'],
    env: { TMPDIR: chooseTempRoot() },
    // Loading the sources anew for each of the files would take a sixth of the time.
    isolate: false,
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
