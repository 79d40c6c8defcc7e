// The pages of the service in Chromium: `npm run test:browser` installs its client in tools/browser. Requires TEST_CHROMIUM.
import { configDefaults, defineConfig } from "vitest/config"
import { isLong } from "./testkit/Depth.ts"

/** They open pages for each code, text and scope. The long form has them. */
const loops = ["ConsoleCodes", "ConsoleTexts", "ConsoleScopes"].map((name) => `tools/browser/${name}.test.ts`)

export default defineConfig({
  test: {
    name: "browser",
    include: ["tools/browser/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(isLong ? [] : loops)],
    globalSetup: ["tools/browser/Chromium.ts"],
    setupFiles: ["testkit/ProcessorTime.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000
  }
})
