// JSON-RPC calls to solana relayers: the service answers the methods of the common client of relayers, and providers the others.
import { Effect, Option, Schema } from "effect"
import type { Scope } from "../../../domain/access/ApiKey.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import { entryOf } from "../../../domain/request/Shown.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { Sponsoring, TransactionSigning } from "../../../server/transactions/Exchanges.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import { errorReply, passing, resultReply, settled } from "../../../server/transactions/NodePassing.ts"
import type { NodeNetwork } from "../../../server/transactions/NodePassing.ts"
import { Transactions } from "../../../server/transactions/Transactions.ts"
import { notExecuted, rpcCodes, RpcError, toRpcError } from "../../core/NodeCall.ts"
import { present } from "../../core/Presentation.ts"
import type { TransactionId } from "../../core/TransactionValues.ts"
import type { Solana } from "../rules/Solana.ts"
import {
  BuildSolanaTransaction,
  enabledFeatures,
  NoParameters,
  passedMethods,
  prebuiltOf,
  QuoteSolanaTransaction,
  SignSolanaTransaction,
  TransferOfUser
} from "../rules/SolanaExchanges.ts"
import { solanaRules } from "../rules/SolanaRules.ts"
import { paymentTermsOf } from "../rules/SolanaTerms.ts"
import { explain } from "../rules/SolanaWords.ts"
import { makeSolanaProvidersOf } from "./SolanaChecks.ts"
import * as SolanaSponsoring from "./SolanaSponsoring.ts"

// The JSON-RPC methods that the service answers itself for solana relayers, as the common client of relayers has them. Each result
// names its method.

/** How long `signAndSendTransaction` waits for the signature. */
const patience = "10 seconds"

/** Ends when the result is known. */
type Ending = Effect.Effect<object, RpcError>

interface SolanaMethod {
  /** Needed in addition to `rpc:call`: the scope of the endpoint that does the same. */
  readonly scope?: Scope
  /** Parameters are an object, or a list with it. */
  begin(sender: Sender<Solana>, params: unknown): Effect.Effect<Ending, RpcError>
}

const decoderOf = <A>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all", onExcessProperty: "error" })
  return (params: unknown): Effect.Effect<A, RpcError> => {
    const [given = {}] = Array.isArray(params) ? params : [params]
    return Effect.mapError(decode(given), ({ issue }) => toRpcError(BadRequest.fromIssue(issue, "params")))
  }
}

/** A method whose work begins when the call ends. */
const method = <A>(
  schema: Schema.Codec<A, unknown>,
  run: (sender: Sender<Solana>, params: A) => Effect.Effect<object, Parameters<typeof toRpcError>[0]>,
  scope?: Scope
): SolanaMethod => {
  const decode = decoderOf(schema)
  return {
    ...present("scope", scope),
    begin: (sender, params) => Effect.map(decode(params), (given) => Effect.mapError(run(sender, given), toRpcError))
  }
}

const supportedTokens = ({ target }: Sender<Solana>) => {
  const { tokens, slippage } = paymentTermsOf(target)
  return tokens.map(({ mint, symbol, decimals, max_allowed_fee }) => ({
    mint,
    ...present("symbol", symbol),
    ...present("decimals", decimals),
    ...present("max_allowed_fee", max_allowed_fee === undefined ? undefined : String(max_allowed_fee)),
    conversion_slippage_percentage: slippage
  }))
}

const makeSolanaMethods = Effect.gen(function* () {
  const ledger = yield* Ledger
  const transactions = yield* Transactions
  const signing = yield* TransactionSigning
  const sponsoring = yield* Sponsoring
  const { transfer } = yield* SolanaSponsoring.make
  const outboundWork = yield* OutboundWork

  /** The transaction with its first bytes, or one that will never have any. */
  const settle = (relayerNumber: number, id: TransactionId) =>
    Effect.timeoutOption(settled(Effect.orDie(ledger.get(relayerNumber, id))), patience)

  const signedOf = Effect.fnUntraced(function* ({ account, relayer }: Sender<Solana>, id: TransactionId) {
    const found = yield* settle(account.relayerNumber, id)
    if (Option.isNone(found)) {
      return yield* new RpcError({
        code: rpcCodes.notSignedYet,
        message: `the transaction ${id} is accepted and not signed yet; read it with GET /api/v1/relayers/${relayer.id}/transactions/${id}`,
        data: { transaction_id: id }
      })
    }
    const shown = yield* Effect.orDie(transactions.get(relayer.id, id))
    if ("transaction" in shown && "signature" in shown && shown.signature !== undefined) {
      return { transaction: shown.transaction, signature: shown.signature, id }
    }
    const { cause } = found.value.transaction
    const why = cause === undefined ? "it ended without a signature" : explain(cause, true).reason
    return yield* notExecuted(why, { code: cause?.code, transaction_id: id })
  })

  /** It is accepted in the order of the calls, and stays accepted if the client does not wait for its signature. */
  const signAndSend = (): SolanaMethod => {
    const decode = decoderOf(SignSolanaTransaction)
    return {
      scope: "transactions:write",
      begin: Effect.fnUntraced(function* (sender: Sender<Solana>, params: unknown) {
        const { transaction } = yield* decode(params)
        const { id } = yield* Effect.mapError(
          transactions.send(sender.relayer.id, { transaction: prebuiltOf(transaction) }),
          toRpcError
        )
        return signedOf(sender, id)
      })
    }
  }

  const methods: Readonly<Record<string, SolanaMethod>> = {
    feeEstimate: method(QuoteSolanaTransaction, ({ relayer }, params) => sponsoring.quote(relayer.id, params)),
    prepareTransaction: method(BuildSolanaTransaction, ({ relayer }, params) => sponsoring.build(relayer.id, params)),
    transferTransaction: method(TransferOfUser, (sender, params) => outboundWork.run(transfer(params, sender))),
    signTransaction: method(
      SignSolanaTransaction,
      ({ relayer }, params) => signing.sign(relayer.id, params),
      "transactions:sign"
    ),
    signAndSendTransaction: signAndSend(),
    getSupportedTokens: method(NoParameters, (sender) => Effect.succeed({ tokens: supportedTokens(sender) })),
    getFeaturesEnabled: method(NoParameters, () => Effect.succeed({ features: enabledFeatures }))
  }
  return methods
})

/** Only relayers of solana come here. */
const ofSolana = (sender: Sender): Sender<Solana> => {
  const target = solanaRules.targetOf(sender)
  if (target === undefined) throw new Error(`${sender.relayer.id} is no solana relayer`)
  return { ...sender, target }
}

/** Amounts are texts, as the client of relayers has them. */
const asText = (value: unknown): unknown => (typeof value === "bigint" ? String(value) : value)

export const make = Effect.gen(function* () {
  const methods = yield* makeSolanaMethods
  const { of, first } = yield* makeSolanaProvidersOf

  const passed = passing({
    type: solanaRules.type,
    methods: passedMethods,
    ask: (sender, call) => Effect.flatMap(of(sender), (providers) => first(providers, (node) => node.ask(call)))
  })

  const calls: NodeNetwork = {
    ...passed,
    scopeOf: (name) => entryOf(methods, name)?.scope,
    begin: Effect.fnUntraced(
      function* (sender, call) {
        const method = entryOf(methods, call.method)
        if (method === undefined) return undefined
        const ending = yield* method.begin(ofSolana(sender), call.params)
        const tagged = Effect.map(ending, (result) => ({
          method: call.method,
          ...Object.fromEntries(Object.entries(result).map(([name, value]) => [name, asText(value)]))
        }))
        return resultReply(call, tagged)
      },
      (effect, _, call) =>
        Effect.catchTag(effect, "RpcError", (error) => Effect.succeed(Effect.succeed(errorReply(call, error))))
    )
  }
  return calls
})
