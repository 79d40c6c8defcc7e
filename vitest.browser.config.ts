// The pages of the service in Chromium: `npm run test:browser` installs its client in tools/browser. Requires TEST_CHROMIUM.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    name: "browser",
    include: ["tools/browser/*.test.ts"],
    // The files share a service, one after the other.
    fileParallelism: false,
    globalSetup: ["tools/browser/Chromium.ts"],
    setupFiles: ["testkit/ProcessorTime.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000
  }
})
