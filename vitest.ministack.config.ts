// Signers of AWS KMS on MiniStack, which the tests install from PyPI in tools/ministack: `npm run test:ministack`.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    name: "ministack",
    include: ["test/ministack/**/*.test.ts"],
    globalSetup: ["testkit/Postgres.ts"],
    // The environment of the process leads the SDK of AWS to MiniStack.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 300_000
  }
})
