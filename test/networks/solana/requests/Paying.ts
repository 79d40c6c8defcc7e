// Users who pay a relayer of solana in a token: the token, the accounts, and what the user signs.
import { Result } from "effect"
import { derivations } from "../../../../src/networks/solana/chain/SolanaAccounts.ts"
import { memoProgram, tokenProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { base64Of, bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { decodeTransaction } from "../../../../src/networks/solana/rules/Wire.ts"
import type { Cluster } from "../../../../testkit/solana/Cluster.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { addressOf, signature } from "../../../testkit/solana/World.ts"

/** The number of the user's key. */
export const userKey = 21

export const user = addressOf(userKey)
export const mint = addressOf(22)

/** 150 tokens cost one SOL. */
export const price = { units: 150_000_000n, native: 1_000_000_000n }

/** The fee of a message with two signatures, in lamports and in units of the token. */
export const fee = { lamports: 10_000n, units: 1500n }

const priceText = { units: String(price.units), native: String(price.native) }

export const token = { mint, decimals: 6, price: priceText }

export const policies = {
  fee_payment_strategy: "user",
  price_source: { type: "fixed" },
  allowed_tokens: [token]
} as const

export const accountOf = (wallet: string, program = tokenProgram): string =>
  derivations.associated(wallet, mint, program)

/** The user has tokens and no lamports, and the relayer an account to be paid to. Nodes show it after two blocks, which are made. */
export const prepare = (cluster: Cluster, relayer: string, units = 1_000_000n) => {
  cluster.put({
    [mint]: Tokens.mint({ decimals: 6 }),
    [accountOf(user)]: Tokens.holding({ mint, owner: user, amount: units }),
    [accountOf(relayer)]: Tokens.holding({ mint, owner: relayer, amount: 0n })
  })
  cluster.produce(2)
}

/** What the user wants: a memo, with the user as the fee payer. Signed by nobody. */
export const wanted = (text: string, payer = user): string => {
  const instructions = [{ program: memoProgram, accounts: [], data: Buffer.from(text) }]
  const message = Wire.messageBytes(Wire.buildMessage({ payer, instructions, blockhash: mint }))
  return base64Of(Wire.transactionBytes([undefined], message))
}

/** The bytes with the user's signature. The relayer's place stays empty. */
export const signedByUser = (transaction: string): string => {
  const { message, messageBytes } = Result.getOrThrow(decodeTransaction(bytesOf(transaction)))
  const signatures = message.keys
    .slice(0, message.signers)
    .map((key) => (key === user ? signature(userKey, messageBytes) : undefined))
  return base64Of(Wire.transactionBytes(signatures, messageBytes))
}

interface Paying {
  readonly relayer: string
  readonly blockhash: string
  readonly amount: bigint
  readonly to?: string
  readonly text?: string
}

/** The instruction that pays the relayer. */
export const payment = ({ relayer, amount, to = accountOf(relayer) }: Pick<Paying, "relayer" | "amount" | "to">) => ({
  program: tokenProgram,
  accounts: [
    { address: accountOf(user), isWritable: true },
    { address: mint, isWritable: false },
    { address: to, isWritable: true },
    { address: user, isWritable: false, isSigner: true }
  ],
  data: Uint8Array.from([12, ...new Uint8Array(BigUint64Array.of(amount).buffer), 6])
})

/** A sponsored transaction that the user has composed without the service. */
export const paying = ({ blockhash, text = "paid", ...paid }: Paying): string => {
  const { relayer } = paid
  const instructions = [payment(paid), { program: memoProgram, accounts: [], data: Buffer.from(text) }]
  const message = Wire.messageBytes(Wire.buildMessage({ payer: relayer, instructions, blockhash }))
  return signedByUser(base64Of(Wire.transactionBytes([undefined, undefined], message)))
}
