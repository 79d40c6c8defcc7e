// A credit on a stand-in ledger, for users who pay in it: its issuer, and trust lines with balances.
import type { Keypair } from "@stellar/stellar-sdk/base"
import { Asset, Operation, Transaction } from "@stellar/stellar-sdk/base"
import { keyNamed } from "./Building.ts"
import { accountIn, keyOf, trustlineIn } from "./Entries.ts"
import type { Entry, Reads, Trustline } from "./Entries.ts"

export const issuer = keyNamed("issuer")

export const credit = new Asset("USD", issuer.publicKey())

/** The credit as policies and requests name it. */
export const creditName = `USD:${issuer.publicKey()}`

const limit = 10n ** 15n

/** What a credit needs of a network. */
interface Entries {
  readonly reads: Reads
  put(key: string, entry: Entry | undefined): void
}

/** Gives an account a trust line with a balance. */
export const trust = (network: Entries, address: string, balance: bigint): void => {
  const line: Trustline = { kind: "trustline", address, asset: creditName, balance, limit }
  network.put(keyOf.trustline(address, creditName), line)
}

export const creditOf = (network: Entries, address: string): bigint | undefined =>
  trustlineIn(network.reads, address, creditName)?.balance

/** Lets the issuer take back what trust lines have. */
export const allowClawback = (network: Entries): void => {
  const account = accountIn(network.reads, issuer.publicKey())
  if (account !== undefined) network.put(keyOf.account(account.address), { ...account, clawback: true })
}

/** A policy whose users pay in the credit: three units of it cost a hundred stroops. */
export const policies = {
  fee_payment_strategy: "user",
  price_source: { type: "fixed" },
  allowed_tokens: [{ asset: creditName, price: { units: 3, native: 100 } }],
  slippage_percentage: 1
}

/** A payment of the credit. */
export const payCredit = (destination: string, units: bigint) =>
  Operation.payment({
    destination,
    asset: credit,
    amount: `${units / 10n ** 7n}.${String(units % 10n ** 7n).padStart(7, "0")}`
  })

/** The text of an envelope with the signature of the user. */
export const signedBy = (user: Keypair, text: string, network: string): string => {
  const transaction = new Transaction(text, network)
  transaction.sign(user)
  return transaction.toXDR()
}
