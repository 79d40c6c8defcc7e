// The Redis that is given to the tests of shared limits.
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    readonly redisUrl: string
  }
}

export const setup = (project: TestProject): void => {
  const url = process.env.TEST_REDIS_URL
  if (url === undefined) throw new Error("set TEST_REDIS_URL to a Redis that may be written to")
  project.provide("redisUrl", url)
}
