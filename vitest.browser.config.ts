import { defineConfig } from "vitest/config"

export default defineConfig({ test: { name: "browser", include: ["test/browser/**/*.test.ts"], testTimeout: 60_000 } })
