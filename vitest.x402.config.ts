// The facilitator of x402 with the stock packages, on anvil: `npm run test:x402` installs them in tools/x402. TEST_X402 names another folder with them.
import { defineConfig } from "vitest/config"
import { sources } from "./testkit/Entries.ts"

const alias = [...sources].map(([entry, source]) => ({ find: new RegExp(`^${entry}$`), replacement: source }))

export default defineConfig({
  resolve: { alias },
  test: {
    name: "x402",
    include: ["test/x402/stock/**/*.test.ts"],
    globalSetup: ["testkit/Postgres.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000
  }
})
