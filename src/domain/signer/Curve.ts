// The curves of keys and signatures.
import { Schema } from "effect"
import type { NetworkType } from "../network/NetworkId.ts"
import { added, field } from "../request/Field.ts"

export const Curve = Schema.Literals(["secp256k1", "ed25519"]).annotate({
  identifier: "Curve",
  description: "Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar.",
  examples: ["secp256k1"]
})
export type Curve = typeof Curve.Type

/** The curve of the signatures of each network type. */
export const curveOf = {
  evm: "secp256k1",
  solana: "ed25519",
  stellar: "ed25519"
} as const satisfies Record<NetworkType, Curve>

const networkTypes = ["evm", "solana", "stellar"] as const satisfies ReadonlyArray<NetworkType>

/** The network types that a key on these curves can serve. */
export const networkTypesOn = (curves: ReadonlyArray<Curve>): ReadonlyArray<NetworkType> =>
  networkTypes.filter((networkType) => curves.includes(curveOf[networkType]))

/** secp256k1: an uncompressed point of 65 bytes, without the prefix 0x. ed25519: 32 bytes. */
export const PublicKey = field(
  Schema.String.check(
    Schema.isPattern(/^(04[0-9a-f]{128}|[0-9a-f]{64})$/u, { expected: "a public key of 65 or 32 bytes, in hex" })
  ),
  added("The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519."),
  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
)
