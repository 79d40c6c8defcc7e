// Wallet clients from npm and PyPI send through a relayer: `npm run test:wallets` installs them in tools/wallets.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    name: "wallets",
    include: ["test/wallets/**/*.test.ts"],
    globalSetup: ["testkit/Postgres.ts"],
    // The files share the virtual environment of web3.py.
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000
  }
})
