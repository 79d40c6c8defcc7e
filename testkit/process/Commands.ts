// Commands of the CLI as processes, and a running service that they call.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { inject } from "vitest"
import * as TestDatabase from "../TestDatabase.ts"
import { folder } from "./Folder.ts"
import * as Service from "./Service.ts"

/** Runs a command to its end. A failure prints one line and no stack. */
export const ran = Effect.fnUntraced(function* (options: Service.Options) {
  const ended = yield* Service.run(options)
  assert.notMatch(ended.stderr + ended.stdout, /^\s+at /m)
  if (ended.code === 0) return ended
  assert.match(ended.stderr, /^effect-relayer: /m)
  return ended
})

/** A running service, and commands that call it. */
export const running = Effect.fnUntraced(function* (settings: Record<string, string> = {}) {
  const home = yield* folder
  const env = { ...Service.onServer(inject("postgres"), yield* TestDatabase.make), ...settings }
  const service = yield* Service.listen({ folder: home, flags: ["serve"], env })
  const call = (flags: ReadonlyArray<string>, more: Record<string, string> = {}) =>
    ran({ folder: home, flags, env: { API_KEY: Service.apiKey, RELAYER_URL: service.baseUrl, ...more } })
  const output = (...flags: ReadonlyArray<string>) =>
    Effect.map(call(flags), ({ code, stdout, stderr }) => {
      assert.strictEqual(code, 0, stderr)
      return stdout
    })
  const write = (name: string, text: string) =>
    Effect.as(
      Effect.promise(() => fs.writeFile(path.join(home, name), text)),
      name
    )
  return { home, env, service, call, output, write }
})
