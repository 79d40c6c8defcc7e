// Quotes and builds transactions whose users pay the fee in a token. Nothing is stored, and nothing of it is trusted later: the payment
// is verified before the relayer signs.
import { Effect, Result } from "effect"
import { chargeOf, decimalOf } from "../../../domain/price/Price.ts"
import type { Charge, TokenPrice } from "../../../domain/price/Price.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import { PriceSource } from "../../../server/prices/PriceSource.ts"
import { needsUserStrategy, notAllowedToken, priceUnavailable } from "../../../server/transactions/Exchanges.ts"
import { unanswered } from "../../../server/transactions/Intake.ts"
import type { Answering, Sender } from "../../../server/transactions/Intake.ts"
import * as Accounts from "../chain/SolanaAccounts.ts"
import { derivations, readTables } from "../chain/SolanaAccounts.ts"
import * as Calls from "../chain/SolanaCalls.ts"
import type { SolanaProviders } from "../chain/SolanaCalls.ts"
import { feeCharged, tokenPriceOf } from "../lane/SolanaSimulations.ts"
import { brokenRule, mintProblem, nativeToken } from "../rules/Guard.ts"
import type { FeeToken, Guarded, MintState } from "../rules/Guard.ts"
import type { Message, WireTransaction } from "../rules/Message.ts"
import { loadedBy, systemProgram } from "../rules/Programs.ts"
import { noBlockhash, paymentInstruction, sponsoredMessage } from "../rules/RequestBytes.ts"
import type { Solana, SolanaTarget } from "../rules/Solana.ts"
import {
  base64Of,
  BuildSolanaTransaction,
  bytesOf,
  prebuiltOf,
  QuoteSolanaTransaction
} from "../rules/SolanaExchanges.ts"
import type { SolanaBuilding, SolanaQuoting, TransferOfUser } from "../rules/SolanaExchanges.ts"
import { maxMintBytes, solDecimals } from "../rules/SolanaNumbers.ts"
import { guardTermsOf, paymentTermsOf, paysFees } from "../rules/SolanaTerms.ts"
import { isRefusal } from "../rules/Spending.ts"
import { buildMessage, decodeTransaction, messageBytes, transactionBytes } from "../rules/Wire.ts"
import { examine, makeSolanaProvidersOf } from "./SolanaChecks.ts"

type Body = SolanaQuoting["request"]

const refused = (field: "transaction" | "fee_token", message: string) => BadRequest.of([{ field, message }])

const checkStrategy = (target: SolanaTarget) => (paysFees(target) ? needsUserStrategy : Effect.void)

const tokenOf = (target: SolanaTarget, mint: string) => {
  const token = paymentTermsOf(target).tokens.find((one) => one.mint === mint)
  return token === undefined ? notAllowedToken : Effect.succeed(token)
}

/** The message of the user, who is its fee payer until the relayer takes that place. */
const userMessage = Effect.fnUntraced(function* ({ transaction }: Body, relayer: string) {
  const decoded = decodeTransaction(bytesOf(prebuiltOf(transaction)))
  if (Result.isFailure(decoded)) {
    const { code, message } = decoded.failure
    return yield* refused("transaction", `${code}: ${message}`)
  }
  const { message } = decoded.success
  if (message.keys[0] === relayer) {
    return yield* refused("transaction", "fee_payer_mismatch: the fee payer must be the user, and not the relayer")
  }
  return message
})

const unsigned = (message: Message): WireTransaction => {
  const bytes = messageBytes(message)
  const signatures = Array.from({ length: message.signers }, () => undefined)
  return { message, messageBytes: bytes, signatures, size: transactionBytes(signatures, bytes).length }
}

interface Priced {
  readonly guarded: Guarded
  readonly charge: Charge
  readonly price: TokenPrice
  readonly decimals: number
  readonly lastValidBlockHeight: number
}

/** SOL needs no mint and no account of a token. */
const nativeMint: MintState = { program: systemProgram, decimals: solDecimals, extensions: [] }

export const make = Effect.gen(function* () {
  const relayerProviders = yield* makeSolanaProvidersOf
  const prices = yield* PriceSource

  /** The mint, if the relayer has an account of the token to be paid to. */
  const mintOf = Effect.fnUntraced(function* (providers: SolanaProviders, token: FeeToken, target: SolanaTarget) {
    if (token.mint === nativeToken) return nativeMint
    const read = (addresses: ReadonlyArray<string>) =>
      relayerProviders.first(providers, (node) => Accounts.readMany(node, addresses, maxMintBytes))
    const mint = Accounts.mintOf((yield* read([token.mint])).get(token.mint))
    const problem = mintProblem(mint, token, paymentTermsOf(target))
    if (mint === undefined || problem !== undefined) return yield* refused("fee_token", problem ?? "is no mint")
    const destination = derivations.associated(target.relayer.address, token.mint, mint.program)
    const account = Accounts.stateOf((yield* read([destination])).get(destination))
    if (account._tag === "Token" && account.isFrozen !== true) return mint
    return yield* refused(
      "fee_token",
      `fee_account_missing: the relayer has no account of the token that can receive it; create ${destination}`
    )
  })

  const resolve = Effect.fnUntraced(function* (providers: SolanaProviders, message: Message) {
    const read = yield* readTables(
      providers,
      message.tables.map(({ table }) => table)
    )
    if (read === "table_unavailable") return yield* unanswered("has the lookup tables")
    if (read === "missing_table") {
      return yield* refused("transaction", "lookup_table_unresolved: a lookup table does not exist, or is deactivated")
    }
    const loaded = loadedBy(message, read)
    if (isRefusal(loaded)) return yield* refused("transaction", `${loaded.code}: ${loaded.message}`)
    const tables = [...read].flatMap(([table, state]) =>
      state._tag === "Active" ? [[table, state.addresses] as const] : []
    )
    return { loaded, tables: new Map(tables) }
  })

  const price = Effect.fnUntraced(function* (
    message: Message,
    fee_token: string,
    { relayer, target }: Sender<Solana>,
    providers: SolanaProviders
  ) {
    yield* checkStrategy(target)
    const token = yield* tokenOf(target, fee_token)
    const mint = yield* mintOf(providers, token, target)
    const resolved = yield* resolve(providers, message)
    const { value: latest } = yield* relayerProviders.first(providers, (node) => node.call(Calls.latestBlockhash))
    const rate = yield* Effect.mapError(tokenPriceOf(prices, target, token), ({ reason }) => priceUnavailable(reason))
    const [user = ""] = message.keys
    const associated = (wallet: string) => derivations.associated(wallet, token.mint, mint.program)
    const withPayment = (amount: bigint): WireTransaction =>
      unsigned(
        sponsoredMessage(message, {
          ...resolved,
          relayer: relayer.address,
          blockhash: latest.blockhash,
          payment: paymentInstruction({
            mint: token.mint,
            tokenProgram: mint.program,
            decimals: mint.decimals,
            user,
            source: associated(user),
            destination: associated(relayer.address),
            relayer: relayer.address,
            amount
          })
        })
      )
    // The amount does not change what the message costs.
    const fee = yield* feeCharged(providers, withPayment(0n))
    const charge = chargeOf(fee, rate, paymentTermsOf(target))
    if (token.max_allowed_fee !== undefined && charge.units > token.max_allowed_fee) {
      return yield* refused(
        "transaction",
        `fee_above_cap: costs ${charge.units} units of the token; max_allowed_fee of the policy is ${token.max_allowed_fee}`
      )
    }
    const built = withPayment(charge.units)
    const guarded: Guarded = {
      transaction: built,
      fee,
      form: "sponsored",
      terms: guardTermsOf(target, {}),
      derivations
    }
    const broken = brokenRule(guarded)
    if (broken !== undefined) return yield* refused("transaction", `${broken.code}: ${broken.message}`)
    const { lastValidBlockHeight } = latest
    const priced: Priced = { guarded, charge, price: rate, decimals: mint.decimals, lastValidBlockHeight }
    return priced
  })

  const quote: Answering<Solana, SolanaQuoting> = {
    body: QuoteSolanaTransaction,
    answer: Effect.fnUntraced(function* (body, sender) {
      const providers = yield* relayerProviders.of(sender)
      const message = yield* userMessage(body, sender.relayer.address)
      const { charge, decimals, price: rate } = yield* price(message, body.fee_token, sender, providers)
      const perSol = chargeOf(10n ** BigInt(solDecimals), rate, { margin: 0 }).units
      return {
        estimated_fee: decimalOf(charge.units, decimals),
        conversion_rate: decimalOf(perSol, decimals)
      }
    })
  }

  const buildFrom = Effect.fnUntraced(function* (
    message: Message,
    fee_token: string,
    sender: Sender<Solana>,
    providers: SolanaProviders
  ) {
    const { guarded, charge, lastValidBlockHeight } = yield* price(message, fee_token, sender, providers)
    const { broken } = yield* examine({ providers, prices, target: sender.target }, guarded)
    if (broken !== undefined) return yield* refused("transaction", `${broken.code}: ${broken.message}`)
    const { signatures, messageBytes: bytes } = guarded.transaction
    const built: SolanaBuilding["response"] = {
      transaction: base64Of(transactionBytes(signatures, bytes)),
      fee_in_spl: charge.units,
      fee_in_lamports: charge.native,
      fee_token,
      valid_until_blockheight: lastValidBlockHeight
    }
    return built
  })

  const build: Answering<Solana, SolanaBuilding> = {
    body: BuildSolanaTransaction,
    answer: Effect.fnUntraced(function* (body, sender) {
      const providers = yield* relayerProviders.of(sender)
      const message = yield* userMessage(body, sender.relayer.address)
      return yield* buildFrom(message, body.fee_token, sender, providers)
    })
  }

  /** A transfer of a user, who pays the fee in the same token. */
  const transfer = Effect.fn("SolanaSponsoring.transfer")(function* (
    { amount, token: mint, source: user, destination: receiver }: TransferOfUser,
    sender: Sender<Solana>
  ) {
    const { target } = sender
    yield* checkStrategy(target)
    const providers = yield* relayerProviders.of(sender)
    const { program, decimals } = yield* mintOf(providers, yield* tokenOf(target, mint), target)
    const associated = (wallet: string) => derivations.associated(wallet, mint, program)
    const [source, destination] = [associated(user), associated(receiver)]
    const instruction = paymentInstruction({
      mint,
      tokenProgram: program,
      decimals,
      user,
      source,
      destination,
      relayer: receiver,
      amount
    })
    const message = buildMessage({ payer: user, instructions: [instruction], blockhash: noBlockhash })
    return yield* buildFrom(message, mint, sender, providers)
  })

  return { quote, build, transfer }
})
