// What the providers of a stellar relayer say, for requests: the accounts that pay and act, and whether the funds are enough.
import { Effect, Result } from "effect"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import type { Terms } from "../../../domain/transaction/stellar/GuardRules.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import * as StellarFunds from "../../../domain/transaction/stellar/StellarFunds.ts"
import type { AccountEntry } from "../../../domain/transaction/stellar/StellarSeen.ts"
import * as Calls from "../../chains/stellar/StellarCalls.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import * as StellarLooks from "../../chains/stellar/StellarLooks.ts"
import { StellarNodes } from "../../chains/stellar/StellarNodes.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../../relayers/RelayerTargets.ts"
import type { Sender } from "../Intake.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { makeKeptProviders, toBadGateway } from "../Senders.ts"

interface Place {
  readonly urls: RelayerTarget["urls"]
  readonly passphrase: string
}

type StellarSender = Sender<Stellar>

/** Fees of recent ledgers. Undefined: no provider says. */
export const feesOf = (providers: StellarProviders) =>
  Effect.map(Effect.result(providers.first((node) => node.call(Calls.feeStats))), Result.getOrUndefined)

export const make = Effect.gen(function* () {
  const nodes = yield* StellarNodes
  const targets = yield* RelayerTargets
  const ledger = yield* Ledger

  const kept = yield* makeKeptProviders(({ urls, passphrase }: Place) => nodes.providers(urls, passphrase))

  const providersOf = Effect.fnUntraced(function* ({ network, relayer }: Pick<Sender, "network" | "relayer">) {
    const { urls } = yield* targets.get(relayer.id)
    const passphrase = network.network_type === "stellar" ? network.passphrase : ""
    return yield* kept({ urls, passphrase })
  })

  /**
   * The terms of the guard with the reserve that the network has voted, if it was read already: acceptance asks no provider. A lane, which
   * has read it, counts again before each signature.
   */
  const withReserve = Effect.fnUntraced(function* (terms: Terms, sender: Pick<Sender, "network" | "relayer">) {
    // A relayer that was deleted meanwhile is refused when its transaction is stored.
    const settings = yield* Effect.orElseSucceed(
      Effect.flatMap(providersOf(sender), ({ known }) => known),
      () => undefined
    )
    return settings === undefined ? terms : { ...terms, baseReserve: settings.baseReserve }
  })

  /** Asks a provider, and the next one if it fails. */
  const first = <A>(providers: StellarProviders, use: Parameters<typeof providers.tryAll<A>>[0]) =>
    Effect.mapError(providers.tryAll(use), toBadGateway)

  const accountsAt = Effect.fnUntraced(function* (node: RpcNode, addresses: ReadonlyArray<string>) {
    const lib = yield* library
    const newest = yield* StellarLooks.newest(node)
    const { of } = yield* StellarLooks.accounts(lib, node, [...new Set(addresses)], newest)
    return { newest: newest.ledger.number, of }
  })

  /** Accounts at the newest ledger of one provider. */
  const look = (providers: StellarProviders, addresses: ReadonlyArray<string>) =>
    first(providers, (node) => accountsAt(node, addresses))

  /** The same of each provider that answers. */
  const lookEach = (providers: StellarProviders, addresses: ReadonlyArray<string>) =>
    Effect.map(
      providers.each((node) => accountsAt(node, addresses)),
      (looks) => looks.filter((look) => look !== undefined)
    )

  /** `payer`: the account of the relayer. Undefined: it does not exist. */
  const isShort = Effect.fnUntraced(function* (
    { account, relayer }: StellarSender,
    payer: AccountEntry | undefined,
    required: bigint,
    settings: LedgerSettings
  ) {
    if (payer === undefined) return true
    const reserved = yield* ledger.reserved(account)
    const minBalance = minBalanceOf("stellar", relayer.policies)
    const funds = StellarFunds.fundsFor([payer], { required, reserved, minBalance }, settings)
    return StellarFunds.isShort(funds)
  })

  return { providersOf, withReserve, first, look, lookEach, isShort }
})
