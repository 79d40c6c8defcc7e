// Measures whether the duration of a refusal reveals how much of a key is right. It refuses keys with a wrong first byte
// and keys with a wrong last byte, and compares the faster half of the samples by Welch's t-test: |t| above 4.5 is a leak.
// The second line of the output shows a real leak: a comparison that stops at the first difference.
//
//   npm run bench:timing
import { Effect, Exit, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { ApiKeys } from "../src/server/access/ApiKeys.ts"
import { makeKey } from "../src/server/access/Key.ts"
import * as KeyAuthentication from "../src/server/access/KeyAuthentication.ts"
import { Audit } from "../src/server/audit/Audit.ts"
import { Authentication } from "../src/server/authentication/Authentication.ts"

const samples = 200_000
const batch = 10

const administrator = randomBytes(512).toString("hex")
const wrongAt = (index: number) => {
  const letter = administrator[index] === "0" ? "1" : "0"
  return administrator.slice(0, index) + letter + administrator.slice(index + 1)
}
const first = wrongAt(0)
const last = wrongAt(administrator.length - 1)

/** Replaces the database: a key of another form is never looked up, and a key of our form is looked up by its hash. */
const noKeys = Layer.merge(Layer.mock(ApiKeys, { find: () => Effect.succeedNone }), Layer.mock(Audit, {}))

type Check = (token: string) => void

/** Nanoseconds per check of each token. The tokens take turns, so that other load on the machine affects both. */
const measure = (check: Check, one: string, other: string) => {
  const times: [Array<number>, Array<number>] = [[], []]
  for (let sample = 0; sample < samples / batch; sample++) {
    for (const which of sample % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const token = which === 0 ? one : other
      const start = process.hrtime.bigint()
      for (let n = 0; n < batch; n++) check(token)
      times[which].push(Number(process.hrtime.bigint() - start) / batch)
    }
  }
  return times
}

/** The faster half. Garbage collection and other processes cause the slower half. */
const faster = (times: ReadonlyArray<number>) => times.toSorted((a, b) => a - b).slice(0, times.length / 2)

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length
const variance = (values: ReadonlyArray<number>) => {
  const middle = mean(values)
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1)
}

const report = (name: string, check: Check, one: string, other: string) => {
  measure(check, one, other)
  const [a, b] = measure(check, one, other).map(faster) as [Array<number>, Array<number>]
  const t = (mean(a) - mean(b)) / Math.sqrt(variance(a) / a.length + variance(b) / b.length)
  process.stdout.write(
    `${name.padEnd(34)}${mean(a).toFixed(1).padStart(9)} ns ${mean(b).toFixed(1).padStart(9)} ns   t = ${t.toFixed(1)}\n`
  )
}

const stops: Check = (token) => {
  for (let at = 0; at < administrator.length; at++) if (token[at] !== administrator[at]) return
}

const program = Effect.gen(function* () {
  const { authenticate } = yield* Authentication
  const refuses: Check = (token) => {
    if (Exit.isSuccess(Effect.runSyncExit(authenticate(Redacted.make(token), undefined)))) throw new Error("let in")
  }
  const key = Redacted.value(makeKey())
  report("wrong first byte, wrong last byte", refuses, first, last)
  report("a comparison that leaks", stops, first, last)
  report(
    "wrong checksum, unknown key",
    refuses,
    key.replace(/.$/, (letter) => (letter === "A" ? "B" : "A")),
    key
  )
})

Effect.runSync(
  Effect.provide(
    program,
    Layer.provide(KeyAuthentication.layer({ administrator: Redacted.make(administrator) }), noKeys)
  )
)
