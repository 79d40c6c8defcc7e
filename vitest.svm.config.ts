// The rules of solana on Agave's virtual machine: `npm run test:svm` installs it in tools/svm.
import { defineConfig } from "vitest/config"

export default defineConfig({ test: { name: "svm", include: ["test/svm/**/*.test.ts"], testTimeout: 600_000 } })
