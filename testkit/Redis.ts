// The global setup of the project `redis`: it passes TEST_REDIS_URL to the tests.
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    readonly redisUrl: string
  }
}

export const setup = (project: TestProject): void => {
  const url = process.env.TEST_REDIS_URL
  if (url === undefined)
    throw new Error("TEST_REDIS_URL is not set: set it to the URL of a Redis that the tests may write to")
  project.provide("redisUrl", url)
}
