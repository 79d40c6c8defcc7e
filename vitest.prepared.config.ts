// The statements of an earlier run on another version of PostgreSQL: `npm run test:prepared`. Requires STATEMENTS and TEST_DATABASE_URL.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    name: "prepared",
    include: ["test/prepared/**/*.test.ts"],
    globalSetup: ["testkit/Postgres.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000
  }
})
