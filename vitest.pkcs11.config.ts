import { defineConfig } from "vitest/config"

export default defineConfig({ test: { name: "pkcs11", include: ["test/pkcs11/**/*.test.ts"], testTimeout: 60_000 } })
