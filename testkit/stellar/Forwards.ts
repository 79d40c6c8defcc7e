// Calls of contracts whose users pay in a token on a stand-in ledger: balances of the token, and what a user signs.
import type { Keypair } from "@stellar/stellar-sdk/base"
import { authorizeEntry, xdr } from "@stellar/stellar-sdk/base"
import { Effect } from "effect"
import { forwarderContract, tokenContract } from "./Contracts.ts"
import { keyOf } from "./Entries.ts"
import type { Network } from "./Network.ts"

/** The field of a network that has the forwarder. */
export const fields = { fee_forwarder: forwarderContract }

/** A policy whose users pay in the token: three units of it cost a hundred stroops. */
export const policies = {
  fee_payment_strategy: "user",
  price_source: { type: "fixed" },
  allowed_tokens: [{ asset: tokenContract, price: { units: 3, native: 100 } }],
  slippage_percentage: 1
}

/** Gives an address units of the token. */
export const hold = (network: Network, address: string, amount: bigint): void =>
  network.put(keyOf.holding(address), { kind: "holding", amount })

export const heldBy = (network: Network, address: string): bigint => {
  const entry = network.reads.get(keyOf.holding(address))
  return entry?.kind === "holding" ? entry.amount : 0n
}

/** The entry of a build with a signature, by the library, as a wallet makes it. `change`: of the entry before it is signed. */
export const signedEntry = (
  key: Keypair,
  text: string,
  network: string,
  change: (entry: xdr.SorobanAuthorizationEntry) => xdr.SorobanAuthorizationEntry = (entry) => entry
) => {
  const entry = change(xdr.SorobanAuthorizationEntry.fromXdr(text, "base64"))
  const { credentials } = entry
  if (credentials.type !== "sorobanCredentialsAddress") throw new Error(credentials.type)
  const { signatureExpirationLedger } = credentials.address
  return Effect.map(
    Effect.promise(() => authorizeEntry(entry, key, signatureExpirationLedger, network)),
    (signed) => signed.toXdr("base64")
  )
}
