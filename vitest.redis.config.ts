import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { name: "redis", include: ["test/redis/**/*.test.ts"], globalSetup: ["testkit/Redis.ts"], testTimeout: 30_000 }
})
