// A token of SoftHSM with a key on each curve. Calls of the library can be made to fail, as a device makes them fail.
import { secp256k1 } from "@noble/curves/secp256k1"
import { Effect, Layer, Queue } from "effect"
import { results } from "../../packages/signer-pkcs11/src/Cryptoki.ts"
import * as Keys from "./Keys.ts"
import * as Library from "./SoftHsmLibrary.ts"
import { pin, token } from "./SoftHsmToken.ts"
import { StandIn, secretText } from "./StandIn.ts"
import type { Fault, Operation } from "./StandIn.ts"

const codes: Partial<Record<Fault, number>> = {
  throttled: results.sessionCount,
  refused: results.keyFunctionNotPermitted,
  "disabled key": results.keyTypeInconsistent,
  broken: results.deviceError
}

const failed = (code: number) => Promise.reject(Object.assign(new Error(secretText), { code }))

const withHighS = (signature: Buffer) => {
  const low = secp256k1.Signature.fromCompact(new Uint8Array(signature)).normalizeS()
  return Buffer.from(new secp256k1.Signature(low.r, secp256k1.CURVE.n - low.s).toCompactRawBytes())
}

/** Makes calls of the library fail in the whole process, for the time of the scope. */
const faulty = Effect.gen(function* () {
  const faults = new Map<Operation, { readonly fault: Fault; times: number }>()
  const counts = new Map<Operation, number>()
  const left = yield* Queue.unbounded<void>()
  const silent = new Set<() => void>()

  const take = (operation: Operation) => {
    counts.set(operation, (counts.get(operation) ?? 0) + 1)
    const planned = faults.get(operation)
    return planned === undefined || planned.times-- <= 0 ? undefined : planned.fault
  }

  const silence = () => {
    Queue.offerUnsafe(left, undefined)
    return new Promise<Buffer>((_, reject) => silent.add(() => reject(new Error(secretText))))
  }

  const answer = (fault: Fault, message: Buffer, signature: Buffer) => {
    const code = codes[fault]
    if (code !== undefined) return failed(code)
    if (fault === "silent") return silence()
    if (fault === "truncated") return signature.subarray(10)
    if (fault === "high s") return message.length === 32 ? withHighS(signature) : signature
    return Buffer.from(Keys.make("secp256k1").sign(message.subarray(0, 32)))
  }

  Library.replaceCalls({
    sign: async (message, signed) => {
      const fault = take("sign")
      const signature = await signed
      return fault === undefined ? signature : answer(fault, message, signature)
    },
    isOtherKey: () => take("describe") === "other key"
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      Library.replaceCalls(undefined)
      for (const end of silent) end()
    })
  )

  return {
    fail: (operation: Operation, fault: Fault, times = Number.POSITIVE_INFINITY) =>
      void faults.set(operation, { fault, times }),
    reply: () => {
      throw new Error("a library does not answer with HTTP")
    },
    count: (operation: Operation) => counts.get(operation) ?? 0,
    silent: Queue.take(left)
  }
})

export const layer = Layer.effect(
  StandIn,
  Effect.gen(function* () {
    const { add, label } = yield* token
    add("secp256k1", "secp256k1", "01")
    add("ed25519", "ed25519", "02")
    return StandIn.of({
      ...(yield* faulty),
      url: "a library has none",
      curves: ["secp256k1", "ed25519"],
      request: (curve) => ({ type: "pkcs11", config: { module: "soft", token_label: label, key_label: curve, pin } })
    })
  })
)
