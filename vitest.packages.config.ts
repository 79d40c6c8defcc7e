// The packages as users install them: `npm run test:packages` builds them and installs what they are tested with.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    name: "packages",
    include: ["test/packages/**/*.test.ts"],
    globalSetup: ["testkit/Postgres.ts"],
    // Each file installs hundreds of megabytes.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 600_000
  }
})
