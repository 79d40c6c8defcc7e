// Signs transactions of solana that callers send themselves: `POST …/sign-transaction`. They pass every rule of a send.
import { Effect, Result } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import { boundOfOwn } from "../../../domain/transaction/solana/Bound.ts"
import * as Base58 from "../../../domain/transaction/solana/Base58.ts"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import type { Guarded } from "../../../domain/transaction/solana/Guard.ts"
import { base64Of, prebuiltOf } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import type { Solana } from "../../../domain/transaction/solana/Solana.ts"
import { SignSolanaTransaction } from "../../../domain/transaction/solana/SolanaExchanges.ts"
import type { SolanaSigning } from "../../../domain/transaction/solana/SolanaExchanges.ts"
import { agreeing, maxAskedProviders, rentMinimum } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { paysFees } from "../../../domain/transaction/solana/SolanaTerms.ts"
import { identityOf } from "../../../domain/transaction/solana/Unsigned.ts"
import { transactionBytes } from "../../../domain/transaction/solana/WireEncoding.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import { isSignedBy } from "../../chains/solana/SolanaKeys.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { ownAnswerBy } from "../../lanes/solana/SolanaLifetimes.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender, Signing } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { unanswered } from "../Senders.ts"
import { examine } from "./Examination.ts"
import * as RelayerProviders from "./RelayerProviders.ts"
import { check } from "./SolanaChecks.ts"

const refused = (code: string, message: string) =>
  BadRequest.of([{ field: "transaction", message: `${code}: ${message}` }])

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const relayerProviders = yield* RelayerProviders.make
  const prices = yield* PriceSource

  /** Until when the bytes can land. */
  const lifetimeOf = Effect.fnUntraced(function* (providers: SolanaProviders, { transaction }: Guarded) {
    const { blockhash } = transaction.message
    const opinions = yield* providers.opinions(maxAskedProviders, (node) => ownAnswerBy(node, blockhash))
    const answers = opinions.flatMap(({ result }) => (Result.isSuccess(result) ? [result.success] : []))
    // Providers that do not answer have no opinion: the bound of those that do is the one that counts.
    const need = Math.min(agreeing, providers.configured, Math.max(answers.length, 1))
    const lifetime = boundOfOwn(blockhash, answers, need)
    if (lifetime === "dead") return yield* refused("blockhash_expired", "its blockhash is not valid any more")
    if (lifetime === "unavailable") return yield* unanswered("knows its blockhash")
    return lifetime
  })

  const checkFunds = Effect.fnUntraced(function* (
    providers: SolanaProviders,
    { relayer, account }: Sender<Solana>,
    fee: bigint
  ) {
    const [{ value: balance }, { blockHeight }] = yield* relayerProviders.first(providers, (node) =>
      Effect.all([node.call(Calls.balanceOf(account.address)), node.call(Calls.epochInfo)], { concurrency: 2 })
    )
    const reserved = yield* ledger.reserved(account, blockHeight)
    const policy = minBalanceOf("solana", relayer.policies)
    const minimum = policy > rentMinimum ? policy : rentMinimum
    if (balance - reserved - fee >= minimum) return
    return yield* refused(
      "insufficient_funds",
      `it can cost ${fee} lamports; the account has ${balance}, of which ${reserved} are reserved and ${minimum} must stay`
    )
  })

  const prepare = Effect.fnUntraced(function* (sender: Sender<Solana>, guarded: Guarded) {
    const { message, messageBytes, signatures } = guarded.transaction
    const providers = yield* relayerProviders.of(sender)
    const lifetime = yield* lifetimeOf(providers, guarded)
    const { broken, fee = feeOf(message).total } = yield* examine({ providers, prices, target: sender.target }, guarded)
    if (broken !== undefined) return yield* refused(broken.code, broken.message)
    const { computeUnitPrice, computeUnitLimit } = feeOf(message)
    yield* checkFunds(providers, sender, fee)
    const offer: Solana["offer"] = {
      ...lifetime,
      computeUnitPrice,
      ...present("computeUnitLimit", computeUnitLimit),
      fee,
      out: 0n
    }
    return {
      curve: "ed25519" as const,
      message: messageBytes,
      fee,
      end: { lastHeight: lifetime.bound },
      offer,
      seal: (signature: Uint8Array) =>
        Effect.sync(() => {
          if (!isSignedBy(signature, messageBytes, sender.account.address)) return undefined
          const [, ...others] = signatures
          return { hash: Base58.encode(signature), raw: transactionBytes([signature, ...others], messageBytes) }
        })
    }
  })

  const signing: Signing<Solana, SolanaSigning> = {
    body: SignSolanaTransaction,
    admit: Effect.fnUntraced(function* ({ transaction }, sender, { limits, prefix }) {
      const form = paysFees(sender.target) ? "sign_transaction" : "sponsored"
      const request = { transaction: prebuiltOf(transaction) }
      const guarded = yield* check(request, sender.target, { form, limits, prefix })
      return { identity: identityOf(guarded.transaction), unsigned: prepare(sender, guarded) }
    }),
    show: ({ hash, raw }) => ({ transaction: base64Of(raw), signature: hash })
  }
  return signing
})
