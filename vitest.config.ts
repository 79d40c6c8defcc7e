import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/browser/**", "test/redis/**"],
    globalSetup: ["testkit/Postgres.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
