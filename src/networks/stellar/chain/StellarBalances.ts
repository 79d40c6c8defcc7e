// What providers show of the balance of a stellar account, for top-ups: what it can spend, and what it needs to exist.
import { Effect } from "effect"
import { ownReserves } from "../../../domain/relayer/Policy.ts"
import { comparedProviders, wrongType } from "../../../server/chains/Chains.ts"
import type { ChainKind, SeenBalances } from "../../../server/chains/Chains.ts"
import type { BalanceAt } from "../../core/TopUpDecision.ts"
import { spendableOf } from "../rules/DecideSignature.ts"
import { library } from "./StellarLibrary.ts"
import * as StellarLooks from "./StellarLooks.ts"
import type { StellarNodes } from "./StellarNodes.ts"

/** `stellar`: what the service has read of the settings of networks. */
export const balancesWith = (stellar: StellarNodes["Service"]): NonNullable<ChainKind["balances"]> =>
  Effect.fn("StellarBalances.balances")(function* (_, { relayer, network, urls }) {
    if (network.network_type !== "stellar") return yield* wrongType
    const lib = yield* library
    const providers = yield* stellar.providers(urls, network.passphrase)
    const settings = yield* providers.settings
    const readings = yield* providers.answers(comparedProviders, (node) =>
      Effect.gen(function* () {
        const { ledger, of } = yield* StellarLooks.accounts(
          lib,
          node,
          [relayer.address],
          yield* StellarLooks.newest(node)
        )
        const account = of.get(relayer.address)
        const reading: BalanceAt =
          account === undefined
            ? { height: ledger.number, balance: 0n, reserve: ownReserves * settings.baseReserve }
            : { height: ledger.number, balance: spendableOf(account, settings) }
        return reading
      })
    )
    const seen: SeenBalances = { configured: providers.configured, readings }
    return seen
  })
