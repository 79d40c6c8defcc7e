// Checks what a key service returns against the public key that was pinned when the signer was created.
import { Effect } from "effect"
import { operations } from "../Curves.ts"
import { SignerUnavailable } from "../SignerBackend.ts"
import type { Pinned } from "../SignerBackend.ts"
import * as LowS from "./LowS.ts"

const mismatch = new SignerUnavailable({
  reason: "mismatch",
  message: "the key with this public_key did not make the signature"
})

const onOtherCurve = new SignerUnavailable({ reason: "curve", message: "the key is not on this curve" })

const completed = async ({ curve, publicKey }: Pinned, message: Uint8Array, signature: Uint8Array) => {
  if (curve === "secp256k1") return LowS.complete(publicKey, message, signature)
  return (await operations.ed25519.verify(publicKey, message, signature)) ? signature : undefined
}

/** The signature in the format of `SignerBackend.sign`. `signature` is what a `Provider` returns. */
export const check = Effect.fnUntraced(function* (pinned: Pinned, message: Uint8Array, signature: Uint8Array) {
  const complete = yield* Effect.promise(() => completed(pinned, message, signature))
  return complete ?? (yield* mismatch)
})

/** Fails without a call if the key is on another curve. */
export const onCurve = ({ curve }: Pinned, wanted: Pinned["curve"]) =>
  curve === wanted ? Effect.void : Effect.fail(onOtherCurve)
