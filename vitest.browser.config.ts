// The pages of the service in Chromium: `npm run test:browser` installs its client in tools/browser. Requires TEST_CHROMIUM.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { name: "browser", include: ["tools/browser/*.test.ts"], testTimeout: 300_000, hookTimeout: 300_000 }
})
