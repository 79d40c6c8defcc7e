// Stores when API keys were used, in the background: a request does not wait for it and does not fail with it.
import { DateTime, Duration, Effect, FiberSet } from "effect"
import type { ApiKeyId } from "../../domain/access/ApiKey.ts"
import * as ApiKeysRepo from "./ApiKeysRepo.ts"

/** The use of a key from an address is stored at most this often. */
const interval = Duration.minutes(1)

/** Uses in memory. Beyond it, the oldest is removed and may be stored again sooner. */
const maxUses = 10_000

export const make = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const run = yield* FiberSet.makeRuntime<never>()
  const storedAt = new Map<string, number>()

  return (id: ApiKeyId, from: string | undefined) =>
    Effect.map(DateTime.now, (now) => {
      const use = `${id} ${from ?? ""}`
      const last = storedAt.get(use)
      // The clock may have been set back.
      if (last !== undefined && Math.abs(now.epochMilliseconds - last) < Duration.toMillis(interval)) return
      const oldest = storedAt.keys().next()
      if (storedAt.size >= maxUses && oldest.done !== true) storedAt.delete(oldest.value)
      storedAt.set(use, now.epochMilliseconds)
      const options = { log: "Debug", message: "cannot store the use of an API key" } as const
      run(Effect.ignoreCause(repo.touch(id, now, from), options))
    })
})
