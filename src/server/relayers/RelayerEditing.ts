// The rules of changing and deleting a relayer.
import { Effect, Equal, Result } from "effect"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Changes } from "../changes/Changes.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Networks } from "../networks/Networks.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { networkId } from "../../domain/network/Network.ts"
import { applyDefinition, applyRelayerPatch, createRequestOf, RelayerInUse } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, Relayer, RelayerId, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import { BadRequest, isCurrentVersion, PreconditionFailed } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import * as RelayerReferences from "./RelayerReferences.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import * as RelayerUrls from "./RelayerUrls.ts"
import { orNotFound } from "./StoredRelayer.ts"
import type { HeldRelayer, StoredRelayer } from "./StoredRelayer.ts"

export const make = Effect.gen(function* () {
  const repo = yield* RelayersRepo.make
  const changes = yield* Changes
  const checkDue = yield* commitSignalOf("health_checks")
  const urls = yield* RelayerUrls.make
  const transaction = yield* Transaction.make
  const ledger = yield* Ledger
  const networks = yield* Networks
  const keys = yield* ApiKeys

  const matching = <A extends StoredRelayer>(ifMatch: string | undefined, found: A) =>
    isCurrentVersion(ifMatch, found.version) ? Effect.succeed(found) : Effect.fail(new PreconditionFailed({}))

  /** For a caller that is limited to some relayers, only the notifications of these relayers exist. */
  const checkNotification = Effect.fnUntraced(function* (
    before: Relayer,
    after: Pick<CreateRelayer, "notification_id">
  ) {
    const ids = (yield* Caller.current).relayerIds
    const { notification_id } = after
    if (ids === undefined || notification_id === undefined || notification_id === before.notification_id) return
    if (yield* repo.useNotification(ids, notification_id)) return
    return yield* BadRequest.of([RelayerReferences.noNotification])
  })

  /** A key with limits may change neither: providers report prices and payments, and policies limit prices and receivers. */
  const checkLimits = Effect.fnUntraced(function* (patch: UpdateRelayer) {
    if ((yield* Caller.current).transactionLimits === undefined) return
    const field = (["custom_rpc_urls", "policies"] as const).find((name) => patch[name] !== undefined)
    if (field !== undefined) return yield* TransactionLimitExceeded.ofChange(field)
  })

  /** Stores a changed request. The row is held. `withUrls`: the RPC URLs change, too. */
  const store = Effect.fnUntraced(
    function* ({ id, value: before }: HeldRelayer, request: CreateRelayer, withUrls: boolean) {
      yield* checkNotification(before, request)
      const after = yield* repo.update(
        id,
        request,
        withUrls ? yield* urls.store(id, request.custom_rpc_urls) : undefined
      )
      yield* changes.recordRelayer({ action: "relayer.updated", before, after: after.value })
      yield* checkDue.afterCommit
      yield* Effect.annotateLogs(Effect.logInfo("relayer updated"), { relayer_id: id, version: after.version })
      return after
    },
    Effect.catchTag("ReferenceMissing", () => Effect.fail(BadRequest.of([RelayerReferences.noNotification])))
  )

  /** The row stays locked until the transaction ends, so that concurrent changes apply one after the other. */
  const hold = Effect.fnUntraced(function* (id: RelayerId, ifMatch?: string) {
    return yield* matching(ifMatch, yield* Effect.flatMap(repo.findForUpdate(id), orNotFound))
  })

  const update = Effect.fn("Relayers.update")(function* (id: RelayerId, patch: UpdateRelayer, ifMatch?: string) {
    yield* checkLimits(patch)
    const held = yield* hold(id, ifMatch)
    const { request, isChanged } = yield* applyRelayerPatch(held.value, yield* urls.open(held), patch)
    return isChanged ? yield* store(held, request, patch.custom_rpc_urls !== undefined) : held
  }, transaction)

  /** What the request makes of the relayer. */
  const defined = Effect.fnUntraced(function* (held: HeldRelayer, given: CreateRelayer) {
    const opened = yield* urls.open(held)
    const { request, isChanged } = yield* applyDefinition(held.value, opened, given)
    const before = createRequestOf(held.value, opened)
    const withUrls = !Equal.equals(before.custom_rpc_urls, request.custom_rpc_urls)
    if (!isChanged) return { request, isChanged, withUrls }
    yield* checkLimits({
      ...(withUrls ? { custom_rpc_urls: request.custom_rpc_urls ?? null } : {}),
      ...(Equal.equals(before.policies, request.policies) ? {} : { policies: {} })
    })
    if (withUrls) yield* urls.check(request.custom_rpc_urls)
    return { request, isChanged, withUrls }
  })

  const define = Effect.fn("Relayers.define")(function* (id: RelayerId, given: CreateRelayer) {
    const held = yield* hold(id)
    const { isChanged, request, withUrls } = yield* defined(held, given)
    if (isChanged) yield* store(held, request, withUrls)
  }, transaction)

  /** Why `define` would fail for each of the relayers. One that does not exist any more is left out. */
  const refusals = Effect.fnUntraced(function* (requests: ReadonlyMap<RelayerId, CreateRelayer>) {
    const refused = new Map<RelayerId, string>()
    const held = requests.size === 0 ? [] : yield* repo.findAllSealed([...requests.keys()], false)
    for (const row of held) {
      const given = requests.get(row.id)
      const result = given === undefined ? undefined : yield* Effect.result(defined(row, given))
      if (result !== undefined && Result.isFailure(result)) refused.set(row.id, result.failure.message)
    }
    return refused
  })

  /** Only a relayer can end the channels of its account. */
  const checkChannels = Effect.fnUntraced(function* (relayer: Relayer) {
    const { id, network: name, network_type } = relayer
    if (network_type !== "stellar") return
    // A network exists as long as its relayers do.
    const network = yield* Effect.orDie(networks.get(networkId(network_type, name)))
    const channels = yield* ledger.countChannelsOf({ relayer, network: network.value })
    if (channels === 0 || (yield* repo.sharesAccount(id, relayer))) return
    return yield* new RelayerInUse({
      error: `has channels: ${channels}; release them (effect-relayer relayers channels-release ${id}), and wait until they have ended`
    })
  })

  const remove = Effect.fn("Relayers.delete")(function* (id: RelayerId, ifMatch?: string) {
    const { value: before, number } = yield* matching(
      ifMatch,
      yield* Effect.flatMap(repo.findForDelete(id), orNotFound)
    )
    const open = yield* ledger.countOpen(number)
    if (open > 0) {
      return yield* new RelayerInUse({ error: `has open transactions: ${open}; cancel them, or wait for them` })
    }
    yield* checkChannels(before)
    yield* repo.delete(id)
    yield* keys.forgetRelayer(id)
    yield* changes.recordRelayer({ action: "relayer.deleted", before })
    yield* Effect.annotateLogs(Effect.logInfo("relayer deleted"), { relayer_id: id })
  }, transaction)

  return { update, define, refusals, delete: remove }
})
