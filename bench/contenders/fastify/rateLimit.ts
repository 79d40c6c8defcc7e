// A token bucket in memory, and its headers. There is only one API key, so there is one bucket.
import type { onRequestHookHandler } from "fastify"
import { Failure } from "./failures.ts"

interface Options {
  readonly requestsPerSecond: number
  readonly burst: number
}

export const rateLimit = ({ requestsPerSecond, burst }: Options): onRequestHookHandler => {
  const policy = `"default";q=${burst};w=${Math.ceil(burst / requestsPerSecond)}`
  let tokens = burst
  let at = performance.now()

  return (_request, reply, done) => {
    const now = performance.now()
    tokens = Math.min(burst, tokens + ((now - at) / 1000) * requestsPerSecond)
    at = now
    reply.header("ratelimit-policy", policy)
    if (tokens < 1) {
      const wait = Math.ceil((1 - tokens) / requestsPerSecond)
      reply.header("ratelimit", `"default";r=0;t=${wait}`).header("retry-after", wait)
      return done(new Failure(429, "Too Many Requests"))
    }
    tokens--
    reply.header("ratelimit", `"default";r=${Math.floor(tokens)};t=${Math.ceil((burst - tokens) / requestsPerSecond)}`)
    done()
  }
}
