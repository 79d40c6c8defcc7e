// How long the clients of AWS KMS are kept.
import { assert, describe, it } from "@effect/vitest"
import * as ClientKms from "@aws-sdk/client-kms"
import { Effect } from "effect"
import { makeAwsCall } from "../../../../src/server/signers/backends/AwsKms.ts"

describe("the clients of AWS KMS", () => {
  /** Counts open clients. */
  const counted = () => {
    let open = 0
    class Client extends ClientKms.KMSClient {
      constructor(options: ClientKms.KMSClientConfig) {
        super(options)
        open++
      }
      override destroy() {
        super.destroy()
        open--
      }
    }
    return { count: () => open, load: () => Promise.resolve({ ...ClientKms, KMSClient: Client }) }
  }

  it.effect("of regions that do not exist are closed, and those that answer are kept", () =>
    Effect.gen(function* () {
      const { count, load } = counted()
      const call = yield* makeAwsCall(load)
      const notFound = Object.assign(new Error("no such host"), { code: "ENOTFOUND" })
      for (let n = 0; n < 100; n++) {
        yield* Effect.flip(call(`eu-nowhere-${n}`, () => Promise.reject(notFound)))
      }
      assert.strictEqual(count(), 0)
      yield* call("eu-west-1", () => Promise.resolve("answered"))
      yield* call("eu-west-1", () => Promise.resolve("answered"))
      assert.strictEqual(count(), 1)
    })
  )

  it.effect("are loaded again after the package was missing", () =>
    Effect.gen(function* () {
      const { load } = counted()
      let isMissing = true
      const call = yield* makeAwsCall(() => (isMissing ? Promise.reject(new Error("no such package")) : load()))
      const answer = call("eu-west-1", () => Promise.resolve("answered"))
      assert.strictEqual((yield* Effect.flip(answer)).reason, "not_installed")
      isMissing = false
      assert.strictEqual(yield* answer, "answered")
    })
  )

  it.effect("load new credentials after AWS has refused the login", () =>
    Effect.gen(function* () {
      let loads = 0
      const credentials = () => {
        loads++
        return Promise.resolve({ accessKeyId: "a", secretAccessKey: "b" })
      }
      class Client extends ClientKms.KMSClient {
        constructor(options: ClientKms.KMSClientConfig) {
          super({ ...options, credentials })
        }
      }
      const call = yield* makeAwsCall(() => Promise.resolve({ ...ClientKms, KMSClient: Client }))
      const failing = (name: string) =>
        Effect.flip(call("eu-west-1", () => Promise.reject(Object.assign(new Error(name), { name }))))
      for (let n = 0; n < 2; n++) assert.strictEqual((yield* failing("ExpiredTokenException")).reason, "login")
      assert.strictEqual(loads, 2)
      yield* failing("AccessDeniedException")
      assert.strictEqual(loads, 2)
    })
  )

  it.effect("are closed with their scope", () =>
    Effect.gen(function* () {
      const { count, load } = counted()
      const use = Effect.flatMap(makeAwsCall(load), (call) => call("eu-west-1", () => Promise.resolve("answered")))
      yield* Effect.scoped(use)
      assert.strictEqual(count(), 0)
    })
  )
})
