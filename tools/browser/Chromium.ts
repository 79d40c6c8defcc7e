// The global setup of the tests in Chromium: builds the console of this checkout, and starts one Chromium and one development service for
// all files.
import { Effect, Exit, Scope } from "effect"
import * as path from "node:path"
import { chromium } from "playwright-core"
import type { TestProject } from "vitest/node"
import { build } from "../../scripts/console/build.ts"
import * as Development from "../../testkit/process/Development.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where tests connect to Chromium. */
    readonly chromium: string
    /** The development service: its address, the administrator's key, and the RPC URL of its evm chain. */
    readonly development: { readonly baseUrl: string; readonly key: string; readonly chainUrl: string }
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
  const scope = Scope.makeUnsafe()
  const end = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await server.close()
  }
  const started = Effect.flatMap(Development.place, (place) => Development.start(place))
  const { baseUrl, key, chainUrl } = await Effect.runPromise(Scope.provide(started, scope)).catch(async (error) => {
    await end()
    throw error
  })
  project.provide("development", { baseUrl, key, chainUrl })
  return end
}
