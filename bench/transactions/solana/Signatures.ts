// What a signature of ed25519 costs in the library that the service uses, and in the one that clients usually have.
import { ed25519 } from "@noble/curves/ed25519"
import { Effect } from "effect"
import * as Keys from "../../../testkit/signers/Keys.ts"

/** Bytes of a usual message. */
const messageBytes = 250

/** Milliseconds of processor time per signature, in a row. */
const measure = (count: number, sign: (message: Uint8Array) => unknown) =>
  Effect.sync(() => {
    const message = new Uint8Array(messageBytes)
    // The first ones are compiled.
    for (let n = 0; n < count / 10; n++) sign(message)
    const before = process.cpuUsage()
    for (let n = 0; n < count; n++) {
      message[n % messageBytes] = n
      sign(message)
    }
    const { system, user } = process.cpuUsage(before)
    return { signMs: (user + system) / 1000 / count }
  })

export const byNode = (count: number) => {
  const key = Keys.make("ed25519")
  return measure(count, (message) => key.sign(message))
}

export const byNoble = (count: number) => {
  const secret = ed25519.utils.randomPrivateKey()
  return measure(count, (message) => ed25519.sign(message, secret))
}
