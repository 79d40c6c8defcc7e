// The addresses of a public key. The chain libraries take 75 MB of memory and are loaded when the first signer is created.
import { Effect } from "effect"
import type { NetworkType } from "../../domain/network/Network.ts"
import { networkTypesOn } from "../../domain/signer/Signer.ts"
import type { Curve, SignerAddresses } from "../../domain/signer/Signer.ts"
import type { SignerBackend } from "./backends/SignerBackend.ts"

const encode: Record<NetworkType, (publicKey: Uint8Array) => Promise<string>> = {
  evm: async (publicKey) => {
    const { publicKeyToAddress } = await import("viem/accounts")
    return publicKeyToAddress(`0x${Buffer.from(publicKey).toString("hex")}`).toLowerCase()
  },
  solana: async (publicKey) => {
    const { getAddressDecoder } = await import("@solana/addresses")
    return getAddressDecoder().decode(publicKey)
  },
  stellar: async (publicKey) => {
    const { StrKey } = await import("@stellar/stellar-sdk/base")
    return StrKey.encodeEd25519PublicKey(publicKey)
  }
}

/** The addresses on the network types of the curve. */
export const ofPublicKey = Effect.fn("Addresses.ofPublicKey")((curve: Curve, publicKey: Uint8Array) =>
  Effect.promise(async (): Promise<Partial<SignerAddresses>> => {
    const encoded = networkTypesOn([curve]).map(
      async (networkType) => [networkType, await encode[networkType](publicKey)] as const
    )
    return Object.fromEntries(await Promise.all(encoded))
  })
)

/** The addresses on the network types of all curves on which there is a key. */
export const derive = Effect.fn("Addresses.derive")(function* (backend: SignerBackend) {
  const addresses: Array<Partial<SignerAddresses>> = []
  for (const curve of backend.curves) addresses.push(yield* ofPublicKey(curve, yield* backend.publicKey(curve)))
  return Object.assign({}, ...addresses) as Partial<SignerAddresses>
})
