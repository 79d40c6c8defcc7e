// The signers of PKCS#11 on SoftHSM. The service loads the sources of the package, which users install apart.
import * as path from "node:path"
import { defineConfig } from "vitest/config"

const alias = { "@effect-relayer/signer-pkcs11": path.join(import.meta.dirname, "packages/signer-pkcs11/src/index.ts") }

export default defineConfig({
  resolve: { alias },
  test: { name: "pkcs11", include: ["test/pkcs11/**/*.test.ts"], testTimeout: 60_000 }
})
