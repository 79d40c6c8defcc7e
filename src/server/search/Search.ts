// Finds resources for a caller: only those of the kinds that the caller may read.
import { Effect, Option, Schema } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { Scope } from "../../domain/access/Scope.ts"
import { maxFound, termsOf } from "../../domain/search/Search.ts"
import type { FoundItem, SearchQuery, Terms } from "../../domain/search/Search.ts"
import { statusOf } from "../../domain/transaction/Presentation.ts"
import type { State } from "../../domain/transaction/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import { Networks } from "../networks/Networks.ts"
import { NetworkId } from "../../domain/network/NetworkId.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as SearchRepo from "./SearchRepo.ts"

const decodeNetworkId = Schema.decodeOption(NetworkId)

const named =
  (kind: FoundItem["kind"]) =>
  ({ id, name }: { readonly id: string; readonly name: string }): FoundItem => ({ kind, id, label: name })

export const make = Effect.gen(function* () {
  const repo = yield* SearchRepo.make
  const networks = yield* Networks
  const relayers = yield* Relayers
  const ledger = yield* Ledger
  const audit = yield* Audit

  /** The transaction of a relayer with this nonce or sequence. */
  const atPlace = Effect.fnUntraced(
    function* ({ place }: Terms) {
      if (place === undefined) return []
      const relayerNumber = yield* relayers.numberOf(RelayerId.make(place.relayerId))
      return [(yield* ledger.bySequence(relayerNumber, place.sequence)).id]
    },
    Effect.catchTag(["RelayerNotFound", "TransactionNotFound"], () => Effect.succeed([]))
  )

  const network = Effect.fnUntraced(function* (text: string) {
    const id = Option.getOrUndefined(decodeNetworkId(text))
    if (id === undefined) return []
    const found = Option.getOrUndefined(yield* Effect.option(networks.get(id)))
    return found === undefined ? [] : [{ id, name: found.value.name }]
  })

  const find = Effect.fn("Search.find")(function* ({ q }: SearchQuery) {
    const caller = yield* Caller.current
    const terms = termsOf(q)
    const { text } = terms
    if (text === "") return []
    const { relayerIds } = caller
    const of = (scope: Scope, found: Effect.Effect<ReadonlyArray<FoundItem>>) =>
      Caller.hasScope(caller, scope) ? found : Effect.succeed<ReadonlyArray<FoundItem>>([])
    /** Finds resources that belong to no relayer. A key that is limited to relayers does not see them. */
    const ofAll = (scope: Scope, found: Effect.Effect<ReadonlyArray<FoundItem>>) =>
      relayerIds === undefined ? of(scope, found) : Effect.succeed<ReadonlyArray<FoundItem>>([])

    const changed = terms.requestId === undefined ? [] : yield* audit.changedBy(terms.requestId, maxFound)
    const changedOf = (kind: FoundItem["kind"]) =>
      changed.filter(({ resource }) => resource === kind).map(({ id }) => id)

    const transactions = Effect.gen(function* () {
      const known = [...(yield* atPlace(terms)), ...changedOf("transaction")]
      const rows = yield* repo.transactions(terms, known, relayerIds)
      return rows.map(({ id, relayer_id, external_id, state }): FoundItem => ({
        kind: "transaction",
        id,
        relayer_id,
        label: external_id ?? id,
        state: statusOf(state as State)
      }))
    })
    const ofRelayers = Effect.map(repo.relayers(terms, changedOf("relayer"), relayerIds), (rows) =>
      rows.map(named("relayer"))
    )
    const byIds = (kind: FoundItem["kind"], table: Parameters<typeof repo.byIds>[0]) =>
      Effect.map(repo.byIds(table, [text, ...changedOf(kind)]), (rows) => rows.map(named(kind)))
    const ofNetworks = Effect.forEach(new Set([text, ...changedOf("network")]), network)

    const found = yield* Effect.all([
      of("transactions:read", transactions),
      of("relayers:read", ofRelayers),
      ofAll("signers:read", byIds("signer", "signers")),
      ofAll("notifications:read", byIds("notification", "notifications")),
      ofAll(
        "networks:read",
        Effect.map(ofNetworks, (found) => found.flat().map(named("network")))
      ),
      ofAll("api-keys:read", byIds("key", "api_keys"))
    ])
    return found.flat().slice(0, maxFound)
  })

  return { find }
})
