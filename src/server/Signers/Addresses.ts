// The accounts of a private key. The chain libraries are loaded when the first signer is made: they cost 60 MB.
import { Effect, Redacted } from "effect"
import type { SignerAddresses } from "../../domain/Signer.ts"

/** `key`: 64 hex digits, with or without `0x`. */
export const derive = Effect.fn("Addresses.derive")((key: Redacted.Redacted) =>
  Effect.promise(async (): Promise<SignerAddresses> => {
    const [viem, solana, stellar] = await Promise.all([
      import("viem/accounts"),
      import("@solana/kit"),
      import("@stellar/stellar-sdk/base")
    ])
    const hex = Redacted.value(key).replace(/^0x/, "")
    const bytes = Buffer.from(hex, "hex")
    try {
      return {
        evm: viem.privateKeyToAddress(`0x${hex}`).toLowerCase(),
        solana: (await solana.createKeyPairSignerFromPrivateKeyBytes(bytes)).address,
        stellar: stellar.Keypair.fromRawEd25519Seed(bytes).publicKey()
      }
    } finally {
      bytes.fill(0)
    }
  })
)
