import { defineConfig } from 'vitest/config';
import { chooseTempRoot } from './test/support/fast-temp.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed-properties.ts'],
    env: { TMPDIR: chooseTempRoot() },
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
