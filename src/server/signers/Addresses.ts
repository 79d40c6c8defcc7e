// The addresses of a public key. The chain libraries take 60 MB and are loaded when the first signer is created.
import { Effect } from "effect"
import type { NetworkType } from "../../domain/network/Network.ts"
import { curveOf, networkTypesOf } from "../../domain/signer/Signer.ts"
import type { Curve, SignerAddresses, SignerType } from "../../domain/signer/Signer.ts"
import type { SignerBackend } from "./backends/SignerBackend.ts"

const encode: Record<NetworkType, (publicKey: Uint8Array) => Promise<string>> = {
  evm: async (publicKey) => {
    const { publicKeyToAddress } = await import("viem/accounts")
    return publicKeyToAddress(`0x${Buffer.from(publicKey).toString("hex")}`).toLowerCase()
  },
  solana: async (publicKey) => {
    const { getAddressDecoder } = await import("@solana/kit")
    return getAddressDecoder().decode(publicKey)
  },
  stellar: async (publicKey) => {
    const { StrKey } = await import("@stellar/stellar-sdk/base")
    return StrKey.encodeEd25519PublicKey(publicKey)
  }
}

export const curvesOf = (type: SignerType): ReadonlyArray<Curve> => [
  ...new Set(networkTypesOf[type].map((networkType) => curveOf[networkType]))
]

/** The addresses on the network types that the signer's type serves with the curve. */
export const ofPublicKey = Effect.fn("Addresses.ofPublicKey")((type: SignerType, curve: Curve, publicKey: Uint8Array) =>
  Effect.promise(async (): Promise<Partial<SignerAddresses>> => {
    const networkTypes = networkTypesOf[type].filter((networkType) => curveOf[networkType] === curve)
    return Object.fromEntries(
      await Promise.all(networkTypes.map(async (networkType) => [networkType, await encode[networkType](publicKey)]))
    )
  })
)

/** The addresses on all network types that the signer's type serves. */
export const derive = Effect.fn("Addresses.derive")(function* (type: SignerType, backend: SignerBackend) {
  const addresses: Array<Partial<SignerAddresses>> = []
  for (const curve of curvesOf(type)) {
    addresses.push(yield* ofPublicKey(type, curve, yield* backend.publicKey(curve)))
  }
  return Object.assign({}, ...addresses) as Partial<SignerAddresses>
})
