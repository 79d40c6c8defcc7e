// The global setup of the tests in Chromium: builds the console of this checkout, and starts one Chromium for all files.
import * as path from "node:path"
import { chromium } from "playwright-core"
import type { TestProject } from "vitest/node"
import { build } from "../../scripts/console/build.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where tests connect to Chromium. */
    readonly chromium: string
  }
}

const built = path.resolve(import.meta.dirname, "../../dist/console")

export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  await build(built)
  const server = await chromium.launchServer({
    executablePath: process.env.TEST_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
  })
  project.provide("chromium", server.wsEndpoint())
  return () => server.close()
}
