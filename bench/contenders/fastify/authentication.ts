// Checks the bearer token: compares the SHA-256 hashes of keys in constant time.
import type { onRequestHookHandler } from "fastify"
import { createHash, timingSafeEqual } from "node:crypto"
import { Failure } from "./failures.ts"

const hash = (key: string) => createHash("sha256").update(key).digest()

export const authenticate = (key: string): onRequestHookHandler => {
  const expected = hash(key)
  return ({ headers }, reply, done) => {
    const [, token] = /^Bearer (.+)$/i.exec(headers.authorization ?? "") ?? []
    if (token !== undefined && timingSafeEqual(hash(token), expected)) return done()
    reply.header("www-authenticate", "Bearer")
    done(new Failure(401, "Unauthorized"))
  }
}
