// Ways to install that need programs of others: the chart of Helm, rendered by helm (TEST_HELM names its binary) and checked with the schemas of
// Kubernetes, which the tests install from PyPI in tools/installs, and the flake, evaluated by Nix: `npm run test:installs`.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { name: "installs", include: ["test/installs/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 300_000 }
})
