// The rules of creating, changing and deleting a relayer.
import { Array, Cause, Effect, Option, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import { mistypedIn } from "../../domain/chain/MistypedAddresses.ts"
import type { Mistypable } from "../../domain/chain/MistypedAddresses.ts"
import { chainWarnings } from "../../domain/health/ChainWarnings.ts"
import { unanswered } from "../../domain/health/Funding.ts"
import { networkId } from "../../domain/network/Network.ts"
import type { NetworkType } from "../../domain/network/Network.ts"
import { NotificationId } from "../../domain/notification/Notification.ts"
import {
  applyRelayerPatch,
  RelayerId,
  RelayerIdTaken,
  RelayerInUse,
  relayerUrlLists,
  relayerUrlsIn
} from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, Relayer, RelayerIsChannel, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import { BadRequest, checkResourceSize, isCurrentVersion, PreconditionFailed } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { suggestionFor } from "../../domain/request/Violations.ts"
import { SignerId, signerTypesFor } from "../../domain/signer/Signer.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { Chains, notServedField, previewBudgetMs, previewPatience } from "../chains/Chains.ts"
import { Changes } from "../changes/Changes.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import { Networks } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { isUnavailable } from "../../sql/Transaction.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { Signers } from "../signers/Signers.ts"
import { makeRelayerUrls } from "./RelayerTargets.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import { makeNewRelayersRepo, ReferenceMissing } from "./RelayersRepo.ts"
import type { NewRelayer } from "./RelayersRepo.ts"
import { orNotFound, RelayerMacs } from "./StoredRelayer.ts"
import { makeTopUpRules, topUpOf } from "./TopUpRules.ts"
import type { HeldRelayer, StoredRelayer } from "./StoredRelayer.ts"

// What a relayer refers to: its network, its signer and its notification.

const noNotification: Violation = { field: "notification_id", message: "no notification with this id" }

interface Serving {
  readonly type: string
  /** The curve of a key that a key service has. Absent: the type decides. */
  readonly curve?: string
}

/** That a signer serves no network of the type. Without a signer, its type is not said. */
export const cannotServe = (signer: Serving | undefined, networkType: NetworkType): string => {
  const article = /^[aeiou]/.test(signer?.type ?? "") ? "an" : "a"
  const which = signer === undefined ? "this signer" : `${article} ${signer.type} signer`
  const on = signer?.curve === undefined ? "" : ` because its key is on ${signer.curve}`
  return `${which} cannot serve ${networkType}${on}: these can: ${signerTypesFor(networkType).join(", ")}`
}

/** Names of networks that a message lists. A service has 30 built-in ones of evm. */
const maxListed = 40

/** What a relayer may name in the place of a network that does not exist. Plans and `explain` write `evm:sepolia` for `sepolia`. */
const noNetwork = (type: NetworkType, given: string, names: ReadonlyArray<string>, mayList: boolean): string => {
  const own = given.startsWith(`${type}:`) ? given.slice(type.length + 1) : given
  const meant = names.includes(own) ? own : suggestionFor(own, names)
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : ""
  const listed =
    names.length === 0 || !mayList ? "" : ` (known: ${names.toSorted().slice(0, maxListed).join(", ")}${more})`
  return `no ${type} network of this name${meant === undefined ? listed : `; did you mean ${meant}?`}`
}

/** Fails with every reference of a request that does not exist or does not fit. Called if one of them is wrong. */
const makeRelayerReferences = Effect.gen(function* () {
  const networks = yield* Networks
  const signers = yield* Signers
  const notifications = yield* Notifications

  const networkProblem = Effect.fnUntraced(function* ({ network_type, network }: CreateRelayer) {
    const located = yield* networks.locate(network_type, network)
    if (located !== undefined) return undefined
    const mayList = Caller.hasScope(yield* Caller.current, "networks:read")
    return noNetwork(network_type, network, yield* networks.names(network_type), mayList)
  })

  const signerProblem = Effect.fnUntraced(function* ({ signer_id, network_type }: CreateRelayer) {
    const signer = yield* Effect.option(signers.get(SignerId.make(signer_id)))
    if (Option.isNone(signer)) return "no signer with this id"
    if (network_type in signer.value.addresses) return undefined
    const mayRead = Caller.hasScope(yield* Caller.current, "signers:read")
    return cannotServe(mayRead ? signer.value : undefined, network_type)
  })

  const isMissing = ({ notification_id }: CreateRelayer) =>
    notification_id === undefined
      ? Effect.succeed(false)
      : Effect.map(Effect.option(notifications.get(NotificationId.make(notification_id))), Option.isNone)

  return Effect.fn("RelayerReferences.refuse")(function* (request: CreateRelayer): Effect.fn.Return<never, BadRequest> {
    const network = yield* networkProblem(request)
    const signer = yield* signerProblem(request)
    const violations: ReadonlyArray<Violation> = [
      ...(network === undefined ? [] : [{ field: "network", message: network }]),
      ...(signer === undefined ? [] : [{ field: "signer_id", message: signer }]),
      ...((yield* isMissing(request)) ? [noNotification] : [])
    ]
    const changed: Violation = { field: "body", message: "refers to a resource that has just changed: send it again" }
    return yield* BadRequest.of(violations.length === 0 ? [changed] : violations)
  })
})

/** Fails with the fields of a policy that have a mistyped address. */
const checkAddresses = (type: NetworkType, policies: Mistypable | null | undefined) => {
  const mistyped = mistypedIn(type, policies ?? {}, "policies.")
  return mistyped.length === 0 ? Effect.void : Effect.fail(BadRequest.of(mistyped))
}

// What is wrong with the providers and the account of a relayer that is about to be created.

const makeRelayerPreview = Effect.gen(function* () {
  const networks = yield* Networks
  const signers = yield* Signers
  const chains = yield* Chains
  const outboundWork = yield* OutboundWork

  /** None: the service will refuse the create, because the network does not exist or the signer has no address on it. */
  const targetOf = Effect.fnUntraced(
    function* (request: CreateRelayer) {
      const { network_type, network: name, policies, signer_id, custom_rpc_urls = [] } = request
      const { network, urls } = yield* networks.callable(networkId(network_type, name))
      const { addresses } = yield* signers.get(SignerId.make(signer_id))
      const address = new Map(Object.entries(addresses)).get(network_type)
      if (address === undefined) return Option.none()
      const secret = relayerUrlsIn(request, "custom_private_rpc_urls") ?? []
      const account = {
        network_type,
        network: name,
        address,
        ...(secret.length === 0 ? {} : { custom_private_rpc_urls: secret }),
        ...(policies === undefined ? {} : { policies })
      }
      return Option.some({ relayer: account, network, urls: custom_rpc_urls.length > 0 ? custom_rpc_urls : urls })
    },
    Effect.catchTags({ NetworkNotFound: () => Effect.succeedNone, SignerNotFound: () => Effect.succeedNone })
  )

  return Effect.fn("Relayers.preview")(function* (request: CreateRelayer) {
    const target = Option.getOrUndefined(yield* targetOf(request))
    if (target === undefined || !chains.serves(request.network_type)) return []
    const seen = yield* outboundWork.run(
      Effect.timeoutOrElse(chains.inspect({ ...target, budgetMs: previewBudgetMs }), {
        duration: previewPatience,
        orElse: () => Effect.succeed(unanswered(target.relayer, target.urls))
      })
    )
    return chainWarnings(target.relayer, seen, target.network)
  })
})

// Creates relayers in batches: relayers that arrive while batches are written form the next one (ADR 0010, 0017).

interface Creation extends Omit<NewRelayer, "account"> {
  readonly origin: Origin
}

type Placed = Creation & NewRelayer

interface Created {
  readonly relayer: StoredRelayer
  readonly origin: Origin
}

/**
 * The most relayers of a batch: half of those of 64 clients, so that the thread prepares one batch while the database writes the other. With
 * 16, with 24 and without a limit, creates of 64 clients took longer (ADR 0017).
 */
const batchSize = 32

/** A batch that waits for a lock longer than this does not hold up the next one. */
const batchPatience = "100 millis"

const signerOf = ({ request }: Creation) => SignerId.make(request.signer_id)

/** Creates a relayer and records it in one transaction. */
const makeCreationBatches = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* makeNewRelayersRepo
  const signers = yield* Signers
  const macs = yield* RelayerMacs
  const changes = yield* Changes
  const checkDue = yield* commitSignalOf("health_checks")
  const transaction = yield* Transaction.make
  const topUps = yield* makeTopUpRules

  const record = Effect.fnUntraced(function* (created: ReadonlyArray<Created>) {
    if (created.length === 0) return
    yield* changes.recordRelayers(
      created.map(({ relayer, origin }) => ({ action: "relayer.created", after: relayer.value, origin }))
    )
    yield* checkDue.afterCommit
  })

  /** With the verified address of its signer. `undefined` if the signer does not exist or has no such address. */
  const withAccounts = Effect.fnUntraced(function* (
    creations: ReadonlyArray<Creation>,
    options: { readonly wait: boolean }
  ) {
    const ids = Array.dedupe(creations.map(signerOf))
    const held = yield* signers.hold(ids, options)
    return yield* Effect.forEach(creations, (creation) => {
      const { signer_id, network_type, network } = creation.request
      const address = held.get(signerOf(creation))?.[network_type]
      if (address === undefined) return Effect.undefined
      const identity = { id: creation.id, network_type, network, signer_id, address }
      return Effect.map(macs.make(identity), (mac): Placed => ({ ...creation, account: { address, mac } }))
    })
  })

  const createAll = Effect.fnUntraced(function* (creations: ReadonlyArray<Creation>) {
    const placed = yield* withAccounts(creations, { wait: false })
    const known = placed.filter((creation) => creation !== undefined)
    const made = new Map(Array.zip(known, yield* repo.insertAll(known)))
    const inserted = placed.map((creation) => (creation && made.get(creation)) ?? Option.none<StoredRelayer>())
    const created = Array.zipWith(inserted, creations, (relayer, { origin }) =>
      Option.map(relayer, (relayer): Created => ({ relayer, origin }))
    )
    yield* record(Array.getSomes(created))
    return inserted
  }, transaction)

  let isFailing = false

  /** The batch failed as a whole, for example by a deadlock. Each relayer is then created alone and reports its own error. */
  const separate = (creations: ReadonlyArray<Creation>, defect: unknown) => {
    const warning = isFailing
      ? Effect.void
      : Effect.logWarning("relayers are created one by one because their batch failed", Cause.die(defect))
    isFailing = true
    return Effect.as(warning, creations.map(Option.none<StoredRelayer>))
  }

  const createBatch = yield* Batcher.make<Creation, Option.Option<StoredRelayer>>(sql, {
    size: batchSize,
    patience: batchPatience,
    all: (creations) =>
      createAll(creations).pipe(
        Effect.tap(Effect.sync(() => (isFailing = false))),
        Effect.catchDefect((defect) =>
          isUnavailable(defect) ? Effect.die(defect) : Effect.suspend(() => separate(creations, defect))
        )
      )
  })

  const createAlone = Effect.fnUntraced(function* (creation: Creation) {
    const topUp = topUpOf(creation.request)
    if (topUp !== undefined) yield* topUps.lockForCreate(topUp)
    const [placed] = yield* withAccounts([creation], { wait: true })
    const relayer = yield* placed === undefined ? Effect.fail(new ReferenceMissing({})) : repo.insert(placed)
    if (topUp !== undefined) yield* topUps.store(relayer, topUp)
    yield* record([{ relayer, origin: creation.origin }])
    return relayer
  }, transaction)

  return (
    creation: Creation
  ): Effect.Effect<StoredRelayer, RelayerIdTaken | RelayerIsChannel | ReferenceMissing | BadRequest> =>
    // Its rules concern other relayers, whose rows it locks.
    topUpOf(creation.request) !== undefined
      ? createAlone(creation)
      : Effect.flatMap(
          createBatch(creation),
          Option.match({ onNone: () => createAlone(creation), onSome: (stored) => Effect.succeed(stored) })
        )
})

export const makeRelayerCreation = Effect.gen(function* () {
  const repo = yield* RelayersRepo.make
  const networks = yield* Networks
  const random = yield* SecureRandom.SecureRandom
  const urls = yield* makeRelayerUrls
  const refuse = yield* makeRelayerReferences
  const insert = yield* makeCreationBatches
  const chains = yield* Chains
  const warningsOf = yield* makeRelayerPreview
  const topUps = yield* makeTopUpRules

  const insertChecked = Effect.fnUntraced(function* (id: RelayerId, request: CreateRelayer) {
    yield* checkResourceSize(request)
    yield* checkAddresses(request.network_type, request.policies)
    if (!chains.serves(request.network_type)) return yield* notServedField(request.network_type)
    const located = yield* networks.locate(request.network_type, request.network)
    if (located === undefined) return yield* refuse(request)
    const relayer = {
      id,
      request,
      urls: yield* urls.store(id, request),
      ownNetworkId: located === "own" ? networkId(request.network_type, request.network) : undefined,
      origin: yield* currentOrigin
    }
    return yield* Effect.catchTag(insert(relayer), "ReferenceMissing", () => refuse(request))
  })

  /** A repeated request fails with the conflict of its id, whatever else is wrong, such as a deleted signer. */
  const takenFirst = (id: RelayerId) => (refused: BadRequest | RelayerIsChannel) =>
    Effect.flatMap(repo.find(id), (found) => Effect.fail(Option.isSome(found) ? new RelayerIdTaken({}) : refused))

  const checkCaller = Effect.fnUntraced(function* (request: CreateRelayer) {
    // A new relayer may use any signer, also one of relayers that a limited caller cannot see.
    const { relayerIds, transactionLimits } = yield* Caller.current
    if (relayerIds !== undefined) return yield* new Caller.Forbidden({})
    // Providers report what the transactions of the key have cost, which counts for its limits.
    const given = relayerUrlLists.find((list) => relayerUrlsIn(request, list) !== undefined)
    if (transactionLimits !== undefined && given !== undefined) return yield* TransactionLimitExceeded.ofChange(given)
    yield* topUps.checkRequest(request)
  })

  const create = Effect.fn("Relayers.create")(function* (request: CreateRelayer) {
    yield* checkCaller(request)
    const id = RelayerId.make(request.id ?? (yield* random.uuidV7()))
    const relayer = yield* Effect.catchTag(
      insertChecked(id, request),
      ["BadRequest", "RelayerIsChannel"],
      takenFirst(id)
    )
    const { network_type, network } = request
    yield* Effect.annotateLogs(Effect.logInfo("relayer created"), { relayer_id: id, network_type, network })
    return relayer
  })

  /** Fails as `create` does, as far as the request alone says. */
  const check = (request: CreateRelayer) =>
    Effect.all([checkCaller(request), checkResourceSize(request), urls.check(request)], {
      discard: true
    })

  return {
    create,
    check,
    preview: (request: CreateRelayer) => Effect.andThen(checkCaller(request), warningsOf(request))
  }
})

// The rules of changing and deleting a relayer.

const changesUrls = (patch: UpdateRelayer): boolean => relayerUrlLists.some((list) => patch[list] !== undefined)

export const makeRelayerEditing = Effect.gen(function* () {
  const repo = yield* RelayersRepo.make
  const changes = yield* Changes
  const checkDue = yield* commitSignalOf("health_checks")
  const urls = yield* makeRelayerUrls
  const transaction = yield* Transaction.make
  const ledger = yield* Ledger
  const networks = yield* Networks
  const keys = yield* ApiKeys
  const topUps = yield* makeTopUpRules

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
    return yield* BadRequest.of([noNotification])
  })

  /** A key with limits may change neither: providers report prices and payments, and policies limit prices and receivers. */
  const checkLimits = Effect.fnUntraced(function* (patch: UpdateRelayer) {
    if ((yield* Caller.current).transactionLimits === undefined) return
    const field = ([...relayerUrlLists, "policies"] as const).find((name) => patch[name] !== undefined)
    if (field !== undefined) return yield* TransactionLimitExceeded.ofChange(field)
  })

  /** Stores a changed request. The row is held. `withUrls`: the RPC URLs change, too. */
  const store = Effect.fnUntraced(
    function* ({ id, value: before }: HeldRelayer, request: CreateRelayer, withUrls: boolean) {
      yield* checkNotification(before, request)
      const after = yield* repo.update(id, request, withUrls ? yield* urls.store(id, request) : undefined)
      yield* topUps.follow(before, after)
      yield* changes.recordRelayer({ action: "relayer.updated", before, after: after.value })
      yield* checkDue.afterCommit
      yield* Effect.annotateLogs(Effect.logInfo("relayer updated"), { relayer_id: id, version: after.version })
      return after
    },
    Effect.catchTag("ReferenceMissing", () => Effect.fail(BadRequest.of([noNotification])))
  )

  /** The row stays locked until the transaction ends, so that concurrent changes apply one after the other. */
  const hold = Effect.fnUntraced(function* (id: RelayerId, ifMatch?: string) {
    return yield* matching(ifMatch, yield* Effect.flatMap(repo.findForUpdate(id), orNotFound))
  })

  const refusal = Effect.fnUntraced(function* (held: HeldRelayer, patch: UpdateRelayer) {
    yield* checkLimits(patch)
    const { request } = yield* applyRelayerPatch(held.value, yield* urls.open(held), patch)
    yield* topUps.checkRequest(request, held.value)
    if (changesUrls(patch)) yield* urls.check(request)
  })

  const update = Effect.fn("Relayers.update")(function* (id: RelayerId, patch: UpdateRelayer, ifMatch?: string) {
    yield* checkLimits(patch)
    yield* topUps.lockForPatch(id, patch)
    const held = yield* hold(id, ifMatch)
    const { request, isChanged } = yield* applyRelayerPatch(held.value, yield* urls.open(held), patch)
    yield* topUps.checkRequest(request, held.value)
    // An address that was stored before this check stays until its list is changed.
    if (isChanged) yield* checkAddresses(request.network_type, patch.policies)
    return isChanged ? yield* store(held, request, changesUrls(patch)) : held
  }, transaction)

  /** Why `update` would fail for each of the relayers. One that does not exist any more is left out. */
  const refusals = Effect.fnUntraced(function* (patches: ReadonlyMap<RelayerId, UpdateRelayer>) {
    const refused = new Map<RelayerId, string>()
    const held = patches.size === 0 ? [] : yield* repo.findAllSealed([...patches.keys()], false)
    for (const row of held) {
      const result = yield* Effect.result(refusal(row, patches.get(row.id) ?? {}))
      if (Result.isFailure(result)) refused.set(row.id, result.failure.message)
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
    yield* topUps.checkDelete(number)
    yield* repo.delete(id)
    yield* keys.forgetRelayer(id)
    yield* changes.recordRelayer({ action: "relayer.deleted", before })
    yield* Effect.annotateLogs(Effect.logInfo("relayer deleted"), { relayer_id: id })
  }, transaction)

  return { update, refusals, delete: remove }
})
